//! The TCP state machine (RFC 9293 s3.3.2): the private state and its named transitions.
//!
//! What a transition sends is left to `subflow`.

use base::{Context, Event, EventMask, SocketId};

/// The states of RFC 9293, those before the end of the handshake first. LISTEN belongs to the
/// stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum State {
    Closed,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// The state and its transitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateMachine {
    state: State,
    socket: SocketId,
}

impl StateMachine {
    /// Makes the connection that of another socket.
    pub(super) const fn set_socket(&mut self, socket: SocketId) {
        self.socket = socket;
    }

    /// An active opener that has sent its SYN.
    pub(super) const fn syn_sent(socket: SocketId) -> Self {
        StateMachine { state: State::SynSent, socket }
    }

    /// A passive opener that has received a SYN.
    pub(super) const fn syn_received(socket: SocketId) -> Self {
        StateMachine { state: State::SynReceived, socket }
    }

    fn go(&mut self, cx: &mut Context<'_>, state: State) {
        self.state = state;
        let (socket, name) = (self.socket, self.name());
        cx.record(EventMask::STATE, || Event::Connection { socket, state: name });
    }

    /// The SYN/ACK came (SYN-SENT), or our SYN was acknowledged (SYN-RECEIVED).
    pub(super) fn establish(&mut self, cx: &mut Context<'_>) {
        debug_assert!(matches!(self.state, State::SynSent | State::SynReceived));
        self.go(cx, State::Established);
    }

    /// The peer's SYN came without an acknowledgement (simultaneous open).
    pub(super) fn open_simultaneously(&mut self, cx: &mut Context<'_>) {
        debug_assert_eq!(self.state, State::SynSent);
        self.go(cx, State::SynReceived);
    }

    /// Our FIN was sent.
    pub(super) fn send_fin(&mut self, cx: &mut Context<'_>) {
        match self.state {
            State::SynReceived | State::Established => self.go(cx, State::FinWait1),
            State::CloseWait => self.go(cx, State::LastAck),
            _ => {}
        }
    }

    /// Our FIN was acknowledged.
    pub(super) fn fin_acked(&mut self, cx: &mut Context<'_>) {
        match self.state {
            State::FinWait1 => self.go(cx, State::FinWait2),
            State::Closing => self.go(cx, State::TimeWait),
            State::LastAck => self.go(cx, State::Closed),
            _ => {}
        }
    }

    /// The peer's FIN arrived in order.
    pub(super) fn receive_fin(&mut self, cx: &mut Context<'_>) {
        match self.state {
            State::SynReceived | State::Established => self.go(cx, State::CloseWait),
            State::FinWait1 => self.go(cx, State::Closing),
            State::FinWait2 => self.go(cx, State::TimeWait),
            _ => {}
        }
    }

    /// Reset, time-out, abort, or the end of TIME-WAIT.
    pub(super) fn close(&mut self, cx: &mut Context<'_>) {
        if self.state != State::Closed {
            self.go(cx, State::Closed);
        }
    }

    /// Whether the connection is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether the SYN was sent and no answer came.
    pub(super) fn is_syn_sent(&self) -> bool {
        self.state == State::SynSent
    }

    /// Whether the SYN/ACK was sent and no acknowledgement came.
    pub(super) fn is_syn_received(&self) -> bool {
        self.state == State::SynReceived
    }

    /// Whether the connection is open in both directions.
    pub(super) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the handshake is over and the connection is not closed.
    pub(super) fn is_synchronised(&self) -> bool {
        self.state >= State::Established
    }

    /// Whether new data may be sent.
    pub(super) fn may_send(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// Whether the peer may still send data.
    pub(super) fn may_receive(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Whether both FINs are acknowledged, and late segments are answered for a while.
    pub(super) fn is_time_wait(&self) -> bool {
        self.state == State::TimeWait
    }

    /// Whether both sides sent a FIN: CLOSING, LAST-ACK or TIME-WAIT.
    pub(super) fn has_both_ends_closing(&self) -> bool {
        matches!(self.state, State::Closing | State::LastAck | State::TimeWait)
    }

    /// Whether only the peer's FIN is missing.
    pub(super) fn is_fin_wait_2(&self) -> bool {
        self.state == State::FinWait2
    }

    /// The name in RFC 9293.
    pub(super) const fn name(&self) -> &'static str {
        match self.state {
            State::Closed => "CLOSED",
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
        }
    }
}
