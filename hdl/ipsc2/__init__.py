"""Intel's iPSC/2 (1988): the Direct-Connect router. ``docs/ipsc2.md`` is its specification."""
