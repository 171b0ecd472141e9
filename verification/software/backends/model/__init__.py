"""Tests of the model back end."""
