//! `GroupSyn`: SYNs that are sent on all paths at once (001 s4.1.1) carry the group they belong to,
//! in the subtype for private use (RFC 8684 s8.2). Experimental; other stacks ignore it.

use crate::fields::Fields;

/// The version of this experiment, after the subtype.
const VERSION: u8 = 1;

/// On the SYN of a path; on the SYN/ACK with the server's nonce instead of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupSyn {
    /// Use this subflow as a backup.
    pub backup: bool,
    /// Address ID of the sender's address.
    pub address_id: u8,
    /// Number of the group, the same on all its SYNs; on a SYN/ACK the server's nonce.
    pub number: u64,
}

impl GroupSyn {
    /// Length of the option; a multiple of four.
    pub const WIRE_LEN: u32 = 16;

    /// Append the bytes after kind and length.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0xF0, VERSION, self.address_id, u8::from(self.backup), 0, 0]);
        out.extend_from_slice(&self.number.to_be_bytes());
    }

    /// The option whose bytes behind the subtype are `content`; reserved bits are ignored.
    pub(super) fn parse(content: &[u8]) -> Option<GroupSyn> {
        let mut fields = Fields(content);
        if fields.u8()? != VERSION {
            return None;
        }
        let address_id = fields.u8()?;
        let backup = fields.u8()? & 1 != 0;
        fields.u16()?;
        let number = fields.u64()?;
        fields.is_empty().then_some(GroupSyn { backup, address_id, number })
    }
}

#[cfg(test)]
mod tests {
    use crate::mptcp::{GroupSyn, MptcpOption};

    #[test]
    fn bytes_are_those_of_the_specification() {
        let group = GroupSyn { backup: true, address_id: 2, number: 0x1122_3344_5566_7788 };
        let option = MptcpOption::Group(group);
        let mut bytes = Vec::new();
        option.emit(&mut bytes);
        let expected =
            [0x1E, 16, 0xF0, 1, 2, 1, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
        assert_eq!(bytes, expected);
        assert_eq!(MptcpOption::parse(&bytes[2..]), Some(option));
        // Of every other length or version it is none of ours.
        for end in 2..16 {
            assert_eq!(MptcpOption::parse(&bytes[2..end]), None);
        }
        bytes[3] = 2;
        assert_eq!(MptcpOption::parse(&bytes[2..]), None);
        bytes[3] = 1;
        bytes.push(0);
        assert_eq!(MptcpOption::parse(&bytes[2..]), None);
    }
}
