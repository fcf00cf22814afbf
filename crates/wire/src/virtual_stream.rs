//! The bytes of a virtual stream: a function of (stream, offset) with sums in closed form.
//!
//! Word `k` of stream `s` (big-endian, at byte `2k`) is, modulo 65535 and with T(k) = k(k - 1)/2,
//!
//! ```text
//! w(s, k) = A s + B floor(s / 2^16) + C k + T(k) + D floor(k / 2^16)
//! ```
//!
//! a polynomial whose sums are polynomials, so the ones-complement sum over any range takes O(1).
//! T(k) makes the difference of two neighbouring words depend on k, so misplaced bytes differ
//! unless the distance is a multiple of 128 KiB less two bytes; the term in D distinguishes those,
//! up to 8 GiB. Each stream adds another constant. The 16-bit sum of a range still misses about one
//! of 65535 misplacements.

use crate::error::be16;
use crate::payload::VirtualRange;

const M: u64 = 0xFFFF;
// Arbitrary numbers without a common factor with M.
const A: u64 = 0x7A3E;
const B: u64 = 0x1C4B;
const C: u64 = 0x3E96;
const D: u64 = 0x52A9;
/// Bits of the block number that the term in D counts.
const BLOCK_BITS: u32 = 16;
/// Offsets wrap at 2^64 bytes, so words do here.
const WORDS: u64 = 1 << 63;

impl VirtualRange {
    /// The byte `index` bytes after the beginning of the range.
    pub fn byte_at(&self, index: u32) -> u8 {
        let offset = self.offset.wrapping_add(index.into());
        word(self.stream, offset / 2).to_be_bytes()[(offset % 2) as usize]
    }

    /// Append the bytes of the range.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.len as usize, 0);
        let (head, rest) = out[start..].split_at_mut(self.head_len());
        let mut words = Words::from(self.stream, self.offset / 2);
        for byte in head {
            *byte = words.next_word() as u8;
        }
        let mut pairs = rest.chunks_exact_mut(2);
        for pair in &mut pairs {
            pair.copy_from_slice(&words.next_word().to_be_bytes());
        }
        for byte in pairs.into_remainder() {
            *byte = (words.next_word() >> 8) as u8;
        }
    }

    /// Whether `bytes` are the bytes of this range.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        if bytes.len() != self.len as usize {
            return false;
        }
        let (head, rest) = bytes.split_at(self.head_len());
        let mut words = Words::from(self.stream, self.offset / 2);
        let pairs = rest.chunks_exact(2);
        let tail = pairs.remainder();
        head.iter().all(|byte| *byte == words.next_word() as u8)
            && pairs.into_iter().all(|pair| be16(pair, 0) == words.next_word())
            && tail.iter().all(|byte| *byte == (words.next_word() >> 8) as u8)
    }

    /// Bytes before the first whole word: 1 if the range begins inside one.
    fn head_len(&self) -> usize {
        (self.offset % 2) as usize * usize::from(self.len > 0)
    }

    /// The ones-complement sum modulo 65535 of the range, its first byte being a high byte.
    pub(crate) fn sum(&self) -> u16 {
        let (mut first, mut len) = (self.offset / 2, u64::from(self.len));
        let shifted = self.offset % 2 == 1;
        // The sum by the words of the stream, swapped if the range begins inside one.
        let mut sum = 0;
        if shifted && len > 0 {
            sum += u64::from(word(self.stream, first) & 0xFF);
            first = (first + 1) % WORDS;
            len -= 1;
        }
        sum += sum_of_words(self.stream, first, len / 2);
        if len % 2 == 1 {
            let last = (first + len / 2) % WORDS;
            sum += u64::from(word(self.stream, last) & 0xFF00);
        }
        let sum = sum % M;
        (if shifted { (sum << 8) % M } else { sum }) as u16
    }
}

/// Iterates over the words of a stream without a multiplication for each.
struct Words {
    k: u64,
    constant: u64,
    value: u64,
    /// C + k modulo M: the increment of the next word within a block.
    step: u64,
}

impl Words {
    fn from(stream: u32, k: u64) -> Self {
        let constant = constant(stream);
        Words { k, constant, value: value(constant, k), step: (C + k % M) % M }
    }

    #[inline]
    fn next_word(&mut self) -> u16 {
        let word = self.value as u16;
        self.k += 1;
        if self.k.trailing_zeros() >= BLOCK_BITS {
            self.k %= WORDS;
            self.value = value(self.constant, self.k);
            self.step = (C + self.k % M) % M;
        } else {
            self.value = reduce_once(self.value + self.step);
            self.step = reduce_once(self.step + 1);
        }
        word
    }
}

fn word(stream: u32, k: u64) -> u16 {
    value(constant(stream), k) as u16
}

/// The constant of a stream, added to each of its words.
fn constant(stream: u32) -> u64 {
    (A * u64::from(stream) + B * u64::from(stream >> 16)) % M
}

fn value(constant: u64, k: u64) -> u64 {
    let blocks = (k >> BLOCK_BITS) % M;
    let k = k % M; // M is odd, so T(k) modulo M depends on k modulo M only.
    (constant + C * k + triangle(k) + D * blocks) % M
}

/// The sum modulo M over words `first..first + count`.
fn sum_of_words(stream: u32, first: u64, count: u64) -> u64 {
    let constant = constant(stream);
    let end = first + count;
    let wrapped = if end > WORDS { sum_below(constant, end - WORDS) } else { 0 };
    (sum_below(constant, end.min(WORDS)) + wrapped + M - sum_below(constant, first)) % M
}

/// The sum modulo M over words `0..k`.
fn sum_below(constant: u64, k: u64) -> u64 {
    let (blocks, rest) = (k >> BLOCK_BITS, k % (1 << BLOCK_BITS));
    // Sum of floor(j / 2^16): block b counts b times 2^16, the last one `rest` times.
    let in_blocks = (triangle(blocks % M) << BLOCK_BITS) + blocks % M * rest;
    // M is a multiple of 3, so k over 3 modulo M depends on k modulo 6M.
    let k = k % (6 * M);
    (constant * k + C * triangle(k) + tetrahedron(k) + D * (in_blocks % M)) % M
}

/// k over 2: the sum of 0..k.
const fn triangle(k: u64) -> u64 {
    k * k.saturating_sub(1) / 2
}

/// k over 3: the sum of the triangles below k.
const fn tetrahedron(k: u64) -> u64 {
    k * k.saturating_sub(1) * k.saturating_sub(2) / 6
}

/// `n` modulo M for n below 2M.
const fn reduce_once(n: u64) -> u64 {
    if n >= M { n - M } else { n }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(range: &VirtualRange) -> Vec<u8> {
        let mut out = Vec::new();
        range.write_to(&mut out);
        out
    }

    /// Offsets near the places where a carry happens.
    fn offset() -> impl Strategy<Value = u64> {
        let edge = prop_oneof![
            Just(0u64),
            Just(1 << 17),
            Just(2 * M),
            Just(1 << 33),
            Just(1 << 48),
            Just(u64::MAX)
        ];
        prop_oneof![
            any::<u64>(),
            (edge, 0u64..4000).prop_map(|(edge, delta)| edge.wrapping_sub(2000 - delta.min(2000)))
        ]
    }

    proptest! {
        #[test]
        fn bytes_are_the_same_singly_and_in_a_row(
            stream in any::<u32>(), offset in offset(), len in 0u32..4000,
        ) {
            let range = VirtualRange { stream, offset, len };
            let row = bytes_of(&range);
            let single: Vec<u8> = (0..len).map(|i| range.byte_at(i)).collect();
            prop_assert_eq!(&row, &single);
            prop_assert!(range.matches(&row));
        }

        #[test]
        fn closed_form_sum_is_the_sum_word_by_word(
            stream in any::<u32>(), offset in offset(), len in 0u32..4000,
        ) {
            let range = VirtualRange { stream, offset, len };
            let naive: u64 = bytes_of(&range)
                .iter()
                .enumerate()
                .map(|(i, byte)| u64::from(*byte) << (8 * ((i + 1) % 2)))
                .sum();
            prop_assert_eq!(u64::from(range.sum()), naive % M);
        }

        #[test]
        fn one_changed_byte_does_not_match(offset in offset(), len in 1u32..200, at in 0u32..200) {
            let range = VirtualRange { stream: 3, offset, len };
            let mut bytes = bytes_of(&range);
            bytes[(at % len) as usize] ^= 0x10;
            prop_assert!(!range.matches(&bytes));
        }
    }

    #[test]
    fn sum_over_a_gigabyte_is_the_sum_of_its_parts() {
        let sum_of = |offset, len| u64::from(VirtualRange { stream: 9, offset, len }.sum());
        let whole = sum_of(6, 1 << 30);
        let parts: u64 = (0..1024).map(|i| sum_of(6 + (i << 20), 1 << 20)).sum();
        assert_eq!(whole, parts % M);
    }

    #[test]
    fn neighbouring_segments_and_streams_have_other_bytes_and_sums() {
        for len in [1u32, 2, 536, 1420, 1428, 1448, 1460] {
            for segment in 0..2000u64 {
                let offset = segment * u64::from(len.max(100));
                let here = VirtualRange { stream: 1, offset, len };
                let others = [
                    VirtualRange { stream: 2, ..here },
                    VirtualRange { stream: 0, ..here },
                    VirtualRange { offset: offset + u64::from(len), ..here },
                    VirtualRange { offset: offset + 2 * u64::from(len), ..here },
                    VirtualRange { offset: offset + 131_072, ..here },
                ];
                let bytes = bytes_of(&here);
                // Single words may agree by chance; whole segments never.
                if len > 2 {
                    assert!(others.iter().all(|other| !other.matches(&bytes)));
                    let same = others.iter().filter(|other| other.sum() == here.sum()).count();
                    assert!(same <= 1, "sums of segment {segment} of {len} bytes do not differ");
                }
            }
        }
    }

    #[test]
    fn shift_by_the_period_of_the_polynomial_is_noticed() {
        let here = VirtualRange { stream: 1, offset: 0, len: 1448 };
        for turns in 1..100 {
            let there = VirtualRange { offset: turns * 2 * M, ..here };
            assert!(!there.matches(&bytes_of(&here)));
            assert_ne!(there.sum(), here.sum());
        }
    }
}
