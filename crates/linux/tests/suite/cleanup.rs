//! Nothing is left: after the end, after a stop, after a kill.
