//! Which connection fetches what: pools of connections with a limit each, and queues of requests.
//!
//! A request is assigned to an open connection with a free stream, the one used last first; if
//! there is none and the limit allows, another one is opened. The assignment is made when the
//! request is written, so that urgent requests overtake others in the queue. Connections stay open.

use std::collections::BTreeSet;

/// All pools of a page.
#[derive(Debug)]
pub(super) struct Pools {
    pools: Vec<Pool>,
    /// Connections of all pools, in the order they were opened.
    connections: Vec<Connection>,
    most_connections: usize,
    most_streams: u16,
    asked: u64,
}

#[derive(Debug, Default)]
struct Pool {
    /// Requests without a connection: (urgency, order of arrival, object).
    queue: BTreeSet<(u8, u64, u32)>,
    /// Open connections with a free stream; the one used last is last.
    free: Vec<usize>,
    opening: usize,
    connections: usize,
}

#[derive(Debug)]
struct Connection {
    pool: usize,
    streams: u16,
}

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Open a connection and report it by `opening`.
    Open,
    /// Write the request for an object on a connection.
    Send { connection: usize, object: u32 },
}

impl Pools {
    pub(super) fn new(pools: usize, (most_connections, most_streams): (u16, u16)) -> Self {
        Pools {
            pools: (0..pools).map(|_| Pool::default()).collect(),
            connections: Vec::new(),
            most_connections: most_connections.into(),
            most_streams,
            asked: 0,
        }
    }

    /// Queue a request for an object.
    pub(super) fn ask(&mut self, pool: usize, urgency: u8, object: u32) {
        self.pools[pool].queue.insert((urgency, self.asked, object));
        self.asked += 1;
    }

    /// The next thing to do for a pool.
    pub(super) fn step(&mut self, number: usize) -> Option<Step> {
        let pool = &mut self.pools[number];
        let first = pool.queue.first().copied()?;
        if let Some(connection) = pool.free.pop() {
            pool.queue.remove(&first);
            let streams = &mut self.connections[connection].streams;
            *streams += 1;
            if *streams < self.most_streams {
                pool.free.push(connection);
            }
            return Some(Step::Send { connection, object: first.2 });
        }
        // Connections that are being opened will serve as many waiting requests.
        let will_serve = pool.opening.saturating_mul(self.most_streams.into());
        let wanted = pool.queue.len() > will_serve;
        (wanted && pool.connections < self.most_connections).then_some(Step::Open)
    }

    /// A connection of `pool` is being opened. Returns its number.
    pub(super) fn opening(&mut self, pool: usize) -> usize {
        self.pools[pool].opening += 1;
        self.pools[pool].connections += 1;
        self.connections.push(Connection { pool, streams: 0 });
        self.connections.len() - 1
    }

    /// The connection is open. Returns its pool.
    pub(super) fn connected(&mut self, connection: usize) -> usize {
        let number = self.connections[connection].pool;
        let pool = &mut self.pools[number];
        pool.opening = pool.opening.saturating_sub(1);
        pool.free.push(connection);
        number
    }

    /// An exchange on a connection ended.
    pub(super) fn over(&mut self, connection: usize) {
        let Connection { pool, streams } = &mut self.connections[connection];
        let was_full = *streams == self.most_streams;
        *streams = streams.saturating_sub(1);
        if was_full {
            self.pools[*pool].free.push(connection);
        }
    }

    /// The pool that a connection belongs to.
    pub(super) fn pool_of(&self, connection: usize) -> usize {
        self.connections[connection].pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(pools: &mut Pools, pool: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(step) = pools.step(pool) {
            if step == Step::Open {
                pools.opening(pool);
            }
            steps.push(step);
        }
        steps
    }

    #[test]
    fn connections_open_as_needed_up_to_the_limit() {
        let mut pools = Pools::new(1, (6, 1));
        pools.ask(0, 3, 0);
        assert_eq!(drain(&mut pools, 0), [Step::Open]);
        (1..20).for_each(|object| pools.ask(0, 3, object));
        assert_eq!(drain(&mut pools, 0), [Step::Open; 5], "six in all");
        pools.connected(2);
        assert_eq!(drain(&mut pools, 0), [Step::Send { connection: 2, object: 0 }]);
        pools.over(2);
        assert_eq!(drain(&mut pools, 0), [Step::Send { connection: 2, object: 1 }]);
    }

    #[test]
    fn the_urgent_overtakes_and_the_connection_used_last_goes_first() {
        let mut pools = Pools::new(1, (2, 1));
        (0..2).for_each(|object| pools.ask(0, 3, object));
        drain(&mut pools, 0);
        pools.connected(0);
        pools.connected(1);
        assert_eq!(drain(&mut pools, 0).len(), 2);
        pools.over(1);
        pools.over(0);
        pools.ask(0, 5, 2);
        pools.ask(0, 1, 3);
        let expected =
            [Step::Send { connection: 0, object: 3 }, Step::Send { connection: 1, object: 2 }];
        assert_eq!(drain(&mut pools, 0), expected);
    }

    #[test]
    fn one_connection_carries_concurrent_streams_up_to_their_limit() {
        let mut pools = Pools::new(1, (1, 3));
        (0..5).for_each(|object| pools.ask(0, 3, object));
        assert_eq!(drain(&mut pools, 0), [Step::Open]);
        pools.connected(0);
        assert_eq!(drain(&mut pools, 0).len(), 3);
        pools.over(0);
        assert_eq!(drain(&mut pools, 0), [Step::Send { connection: 0, object: 3 }]);
    }

    #[test]
    fn every_pool_has_its_own_limit() {
        let mut pools = Pools::new(2, (1, 1));
        (0..4).for_each(|object| pools.ask(object as usize % 2, 3, object));
        assert_eq!(drain(&mut pools, 0), [Step::Open]);
        assert_eq!(drain(&mut pools, 1), [Step::Open]);
    }
}
