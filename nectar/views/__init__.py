"""What shows a recording (docs/recording.md): ``spans`` makes tracks and messages of its events, ``report`` a page,
``trace`` files for other programs' timelines."""
