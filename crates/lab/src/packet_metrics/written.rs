//! The delay of every byte from the write that took it to the read that returned it (004 sVI-B), of
//! a run with one connection.

use super::distribution::Distribution;
use base::{Instant, SocketId};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Writes whose bytes were not all read: bytes left, and time.
    unread: VecDeque<(u64, Instant)>,
    writer: Option<SocketId>,
    reader: Option<SocketId>,
    /// Several connections: which bytes are which is not known.
    is_ambiguous: bool,
    delays: Distribution,
}

impl Written {
    /// The data sender's application wrote these bytes.
    pub(super) fn write(&mut self, now: Instant, socket: SocketId, len: u32) {
        self.is_ambiguous |= *self.writer.get_or_insert(socket) != socket;
        if len > 0 && !self.is_ambiguous {
            self.unread.push_back((len.into(), now));
        }
    }

    /// The data receiver's application read these bytes.
    pub(super) fn read(&mut self, now: Instant, socket: SocketId, len: u32) {
        self.is_ambiguous |= *self.reader.get_or_insert(socket) != socket;
        let mut left = u64::from(len);
        while let Some((bytes, written)) = self.unread.front_mut().filter(|_| left > 0) {
            let part = left.min(*bytes);
            self.delays.add_weighted(now - *written, part);
            (*bytes, left) = (*bytes - part, left - part);
            if *bytes == 0 {
                self.unread.pop_front();
            }
        }
    }

    /// The delays by bytes, if they are known.
    pub(super) fn delays(&self) -> Option<&Distribution> {
        Some(&self.delays).filter(|delays| !self.is_ambiguous && !delays.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_weighted_by_bytes() {
        let mut of = Written::default();
        let (writer, reader) = (SocketId(3), SocketId(0));
        of.write(Instant::from_millis(0), writer, 300);
        of.write(Instant::from_millis(10), writer, 100);
        of.read(Instant::from_millis(50), reader, 200);
        of.read(Instant::from_millis(90), reader, 200);
        let numbers: Vec<(&str, f64)> = of.delays().unwrap().numbers(&[]).collect();
        let number = |name| numbers.iter().find(|(known, _)| *known == name).unwrap().1;
        // 200 bytes 50 ms, 100 bytes 90 ms, 100 bytes 80 ms.
        assert!((number("mean") - 0.0675).abs() < 1e-9, "{numbers:?}");
        assert_eq!((number("min"), number("max")), (0.05, 0.09));
        of.write(Instant::from_millis(95), SocketId(4), 1);
        assert!(of.delays().is_none(), "two connections");
    }
}
