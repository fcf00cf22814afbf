//! A middlebox that takes MPTCP's options away: kind 30 becomes padding; or that rewrites payload.
//! The checksum is mended.

/// TCP's option kind of MPTCP.
const MPTCP: u8 = 30;
const TCP: u8 = 6;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// The segments that lose their options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Syn,
    SynAck,
    /// From the third segment of the handshake on.
    AfterSyn,
}

/// Take the options of a datagram away if it belongs to the stage.
pub(crate) fn strip(datagram: &mut [u8], stage: Stage) {
    let Some((segment, addresses)) = tcp(datagram) else { return };
    let is_stage = match (segment[13] & SYN != 0, segment[13] & ACK != 0) {
        (true, false) => stage == Stage::Syn,
        (true, true) => stage == Stage::SynAck,
        (false, _) => stage == Stage::AfterSyn,
    };
    if is_stage {
        pad(segment);
        mend(segment, addresses);
    }
}

/// Change one byte of the payload if there is any; whether there was.
pub(crate) fn rewrite(datagram: &mut [u8]) -> bool {
    let Some((segment, addresses)) = tcp(datagram) else { return false };
    let start = usize::from(segment[12] >> 4) * 4;
    let Some(byte) = segment.get_mut(start) else { return false };
    *byte = !*byte;
    mend(segment, addresses);
    true
}

/// The TCP segment of a datagram, and the sum of the addresses.
fn tcp(datagram: &mut [u8]) -> Option<(&mut [u8], u64)> {
    let (start, pseudo) = match datagram[0] >> 4 {
        4 if datagram[9] == TCP => (usize::from(datagram[0] & 15) * 4, 12..20),
        6 if datagram[6] == TCP => (40, 8..40),
        _ => return None,
    };
    let addresses = sum(&datagram[pseudo]);
    Some((&mut datagram[start..], addresses))
}

fn pad(segment: &mut [u8]) {
    let end = usize::from(segment[12] >> 4) * 4;
    let mut at = 20;
    while at < end && segment[at] != 0 {
        let len = if segment[at] == 1 { 1 } else { usize::from(segment[at + 1]).max(2) };
        if segment[at] == MPTCP {
            segment[at..at + len].fill(1);
        }
        at += len;
    }
}

fn mend(segment: &mut [u8], addresses: u64) {
    segment[16..18].fill(0);
    let mut total = addresses + u64::from(TCP) + segment.len() as u64 + sum(segment);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    segment[16..18].copy_from_slice(&(!(total as u16)).to_be_bytes());
}

fn sum(bytes: &[u8]) -> u64 {
    let word =
        |pair: &[u8]| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    bytes.chunks(2).map(word).sum()
}
