//! `Half`: one end of any traffic model, so that a world has one type of application.

use crate::application::{Application, StreamFailure, StreamHost};
use crate::call::{self, Caller};
use crate::datagrams::{self, Datagrams};
use crate::model::conversation::{Direction, outcome_of_both};
use crate::model::{Model, Traffic, TrafficModel};
use crate::one_way::{OneWay, Report, Role};
use crate::outcome::Outcome;
use crate::vod::{self, Player};
use crate::web::{Browser, WebServer};
use base::{Instant, SocketId};

/// One end of the traffic.
#[allow(
    clippy::large_enum_variant,
    reason = "a world may have thousands of one-way halves, and a step to each costs; pages are few"
)]
pub enum Half {
    /// Either half of a model that sends messages over one connection.
    OneWay(OneWay),
    /// The client of a page.
    Browser(Box<Browser>),
    /// The server of a page or a film.
    WebServer(Box<WebServer>),
    /// The client of a film.
    Player(Box<Player>),
    /// Either half of a call.
    Caller(Box<Caller>),
    /// Either half of a model whose messages are datagrams.
    Datagrams(Box<Datagrams>),
}

/// Calls the same method of every kind of half.
macro_rules! dispatch {
    ($half:expr, $inner:ident => $call:expr) => {
        match $half {
            Half::OneWay($inner) => $call,
            Half::Browser($inner) => $call,
            Half::WebServer($inner) => $call,
            Half::Player($inner) => $call,
            Half::Caller($inner) => $call,
            Half::Datagrams($inner) => $call,
        }
    };
}

impl Half {
    /// The half of `role` in `traffic`; pages and films cannot be reversed. `connection` numbers
    /// the connections of a world, as for `OneWay`.
    pub fn new(traffic: &Traffic, role: Role, reverse: bool, connection: u32) -> Self {
        match (traffic.model(), role) {
            (Model::OneWay(model), role) => {
                Half::OneWay(OneWay::new(model, role, reverse, connection))
            }
            (Model::TwoWay([up, down]), role) => {
                let models = own_and_peers(up, down, (role == Role::Client) != reverse);
                Half::OneWay(OneWay::two_way(models, role, connection))
            }
            (Model::Web(web), Role::Client) => Half::Browser(Box::new(Browser::new(web))),
            (Model::Web(web), Role::Server) => Half::WebServer(Box::new(WebServer::new(web))),
            (Model::Call(call), role) => {
                Half::Caller(Box::new(Caller::new(call, role, reverse, connection)))
            }
            (Model::Vod(vod), Role::Client) => Half::Player(Box::new(Player::new(vod))),
            (Model::Vod(vod), Role::Server) => {
                Half::WebServer(Box::new(WebServer::new(&vod.web())))
            }
        }
    }

    /// The same over UDP: each message of a model of messages, and each of a call, is a datagram.
    /// Other models have no such half, and go over a stream.
    pub fn over_datagrams(traffic: &Traffic, role: Role, reverse: bool, connection: u32) -> Self {
        match traffic.model() {
            Model::OneWay(model) if traffic.fits_datagrams() => {
                Half::Datagrams(Box::new(Datagrams::new(model, role, reverse, connection)))
            }
            Model::TwoWay([up, down]) if traffic.fits_datagrams() => {
                let models = own_and_peers(up, down, (role == Role::Client) != reverse);
                Half::Datagrams(Box::new(Datagrams::two_way(models, role, connection)))
            }
            Model::Call(call) => {
                let caller = Caller::new(call, role, reverse, connection).over_datagrams();
                Half::Caller(Box::new(caller))
            }
            _ => Half::new(traffic, role, reverse, connection),
        }
    }

    /// The report of this half so far.
    pub fn report(&self) -> &Report {
        dispatch!(self, half => half.report())
    }

    /// The sockets of its connections, in the order they were opened or accepted.
    pub fn sockets(&self) -> Vec<SocketId> {
        match self {
            Half::OneWay(half) => half.socket().into_iter().collect(),
            Half::Browser(half) => half.sockets().collect(),
            Half::WebServer(half) => half.sockets().collect(),
            Half::Player(half) => half.socket().into_iter().collect(),
            Half::Caller(half) => half.socket().into_iter().collect(),
            Half::Datagrams(half) => half.socket().into_iter().collect(),
        }
    }

    /// The result of the run, from both halves of `traffic`.
    pub fn outcome(traffic: &Traffic, client: &Half, server: &Half, reverse: bool) -> Outcome {
        let (seen, other) = (client.report(), server.report());
        let (sender, receiver) = if reverse { (seen, other) } else { (other, seen) };
        if let (Model::Call(call), Half::Caller(client), Half::Caller(server)) =
            (traffic.model(), client, server)
        {
            return call::outcome(call, [client, server], reverse);
        }
        if let (Half::Datagrams(client), Half::Datagrams(server)) = (client, server) {
            return datagrams::outcome(client, server);
        }
        match (traffic.model(), client) {
            (_, Half::Browser(browser)) => browser.outcome(),
            (_, Half::Player(player)) => player.outcome(),
            (Model::OneWay(model), _) => model.outcome(seen, sender, receiver),
            (Model::TwoWay([up, down]), _) if reverse => outcome_of_both([&down, &up], seen, other),
            (Model::TwoWay([up, down]), _) => outcome_of_both([&up, &down], seen, other),
            (Model::Web(web), _) => crate::web::nothing_loaded(web),
            (Model::Vod(_), _) => Outcome::single(vod::METRIC, None, 0),
            (Model::Call(_), _) => Outcome::single(call::METRIC, None, 0),
        }
    }
}

/// What an end sends, and what its peer does.
fn own_and_peers(
    up: Direction,
    down: Direction,
    sends_up: bool,
) -> [Box<dyn TrafficModel + Send>; 2] {
    let (own, peers) = if sends_up { (up, down) } else { (down, up) };
    [Box::new(own), Box::new(peers)]
}

impl Application for Half {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        dispatch!(self, half => half.on_start(host));
    }
    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        dispatch!(self, half => half.on_connected(host, socket));
    }
    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        dispatch!(self, half => half.on_accepted(host, socket));
    }
    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        dispatch!(self, half => half.on_readable(host, socket));
    }
    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        dispatch!(self, half => half.on_writable(host, socket));
    }
    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        dispatch!(self, half => half.on_peer_closed(host, socket));
    }
    fn on_closed(&mut self, socket: SocketId) {
        dispatch!(self, half => half.on_closed(socket));
    }
    fn on_failed(&mut self, socket: SocketId, failure: StreamFailure) {
        dispatch!(self, half => half.on_failed(socket, failure));
    }
    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        dispatch!(self, half => half.on_timeout(host));
    }
    fn poll_deadline(&self) -> Option<Instant> {
        dispatch!(self, half => half.poll_deadline())
    }
    fn prefetch(&self) {
        dispatch!(self, half => half.prefetch());
    }
    fn is_done(&self) -> bool {
        dispatch!(self, half => half.is_done())
    }
}
