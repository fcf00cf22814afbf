//! `Joined`: payloads put together in order, without copies of bytes.
//!
//! Virtual payloads that continue one another become one, so a bulk transfer allocates nothing.

use wire::Payload;

/// A payload under construction; linear in the number of pieces.
#[derive(Debug, Default)]
pub(super) struct Joined {
    pieces: Vec<Payload>,
    last: Payload,
}

impl Joined {
    /// Appends a payload.
    pub(super) fn push(&mut self, payload: Payload) {
        if payload.is_mixed() {
            payload.into_pieces().into_iter().for_each(|piece| self.push_plain(piece));
        } else if !payload.is_empty() {
            self.push_plain(payload);
        }
    }

    fn push_plain(&mut self, piece: Payload) {
        if self.last.is_empty() || self.last.is_continued_by(&piece) {
            self.last.append(piece);
        } else {
            self.pieces.push(std::mem::replace(&mut self.last, piece));
        }
    }

    /// The whole.
    pub(super) fn into_payload(mut self) -> Payload {
        if self.pieces.is_empty() {
            return self.last;
        }
        self.pieces.push(self.last);
        Payload::from_pieces(self.pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_payload_equals_an_appended_one() {
        let mut mixed = Payload::from(vec![4, 5]);
        mixed.append(Payload::virtual_range(1, 30, 10));
        let pieces = [
            Payload::virtual_range(1, 0, 10),
            Payload::EMPTY,
            Payload::virtual_range(1, 10, 10),
            Payload::from(vec![1, 2, 3]),
            mixed,
            Payload::virtual_range(1, 40, 10),
        ];
        for count in 0..=pieces.len() {
            let (mut joined, mut appended) = (Joined::default(), Payload::EMPTY);
            for piece in &pieces[..count] {
                joined.push(piece.clone());
                appended.append(piece.clone());
            }
            assert_eq!(joined.into_payload(), appended);
        }
    }
}
