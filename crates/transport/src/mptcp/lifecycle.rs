//! Whether a connection is over, and the events for its application.

use crate::socket::{ConnectionEvent, SocketError};

/// The application's view of a connection.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    /// The application released the socket.
    released: bool,
    /// Both directions are closed, or the connection failed.
    closed: bool,
    events: Vec<ConnectionEvent>,
}

impl Lifecycle {
    /// The application released the socket.
    pub(super) const fn release(&mut self) {
        self.released = true;
    }

    /// The application released the socket.
    #[inline]
    pub(super) const fn is_released(&self) -> bool {
        self.released
    }

    /// Both directions are closed, or the connection failed.
    #[inline]
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Queue an event.
    pub(super) fn push(&mut self, event: ConnectionEvent) {
        self.events.push(event);
    }

    /// New data can be read; repeated only after another event.
    #[inline]
    pub(super) fn push_readable(&mut self) {
        if self.events.last() != Some(&ConnectionEvent::Readable) {
            self.events.push(ConnectionEvent::Readable);
        }
    }

    /// Both directions are closed. The application sees one end only.
    pub(super) fn close(&mut self) {
        self.end(ConnectionEvent::Closed);
    }

    /// The connection failed. The application sees one end only.
    pub(super) fn fail(&mut self, error: SocketError) {
        self.end(ConnectionEvent::Failed(error));
    }

    /// The application aborted the connection and needs no event.
    pub(super) const fn abort(&mut self) {
        self.closed = true;
    }

    fn end(&mut self, event: ConnectionEvent) {
        if !std::mem::replace(&mut self.closed, true) {
            self.events.push(event);
        }
    }

    /// Whether there are events.
    #[inline]
    pub(super) const fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Take the event that data can be read, if it is the only one.
    #[inline]
    pub(super) fn take_readable(&mut self) -> bool {
        let only = matches!(self.events[..], [ConnectionEvent::Readable]);
        if only {
            self.events.clear();
        }
        only
    }

    /// Move the events to the end of `events`.
    pub(super) fn take_events(&mut self, events: &mut Vec<ConnectionEvent>) {
        events.append(&mut self.events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lifecycle: &mut Lifecycle) -> Vec<ConnectionEvent> {
        let mut events = Vec::new();
        lifecycle.take_events(&mut events);
        events
    }

    #[test]
    fn connection_ends_once() {
        let mut lifecycle = Lifecycle::default();
        lifecycle.fail(SocketError::Reset);
        lifecycle.close();
        lifecycle.fail(SocketError::TimedOut);
        assert!(lifecycle.is_closed());
        assert_eq!(taken(&mut lifecycle), [ConnectionEvent::Failed(SocketError::Reset)]);
        let mut aborted = Lifecycle::default();
        aborted.abort();
        aborted.close();
        assert!(!aborted.has_events());
    }

    #[test]
    fn readable_is_repeated_only_after_another_event() {
        let mut lifecycle = Lifecycle::default();
        lifecycle.push_readable();
        lifecycle.push_readable();
        lifecycle.push(ConnectionEvent::Writable);
        lifecycle.push_readable();
        let (readable, writable) = (ConnectionEvent::Readable, ConnectionEvent::Writable);
        assert_eq!(taken(&mut lifecycle), [readable, writable, readable]);
    }
}
