"""Loaded by Hermes from $HERMES_HOME/plugins/contextrender."""

from contextrender.adapters.hermes import register

__all__ = ["register"]
