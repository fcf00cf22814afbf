//! Identifiers: small numbers that name a host, an interface, a link, a path or a socket.
//!
//! They are indices into the tables of their owner, which uses a number once at any time.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A host of a world, in the order hosts were declared.
    HostId, u16
);
id!(
    /// An interface of one host.
    InterfaceId, u16
);
id!(
    /// A one-way link of a world.
    LinkId, u32
);
id!(
    /// A path (one subflow or one SCTP destination) of one connection.
    PathId, u8
);
id!(
    /// A socket of one stack: a connection or a UDP port. Never reused within a stack.
    SocketId, u32
);
