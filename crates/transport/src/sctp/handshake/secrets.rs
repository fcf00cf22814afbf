//! `CookieSecrets`: the secret that signs state cookies, and the one before it.
//!
//! A secret is replaced from time to time; cookies that the previous one signed stay valid for one
//! life (RFC 9260 s5.1.3 leaves the period to the implementation).

use wire::sctp::CookieSecret;

/// Secrets of an endpoint.
#[derive(Clone, Debug)]
pub struct CookieSecrets {
    current: CookieSecret,
    /// The previous secret, and the last millisecond at which a cookie of it may be valid.
    previous: Option<(CookieSecret, u64)>,
}

impl CookieSecrets {
    /// A first secret of random bytes.
    pub const fn new(secret: [u8; 32]) -> Self {
        CookieSecrets { current: CookieSecret { id: 0, secret }, previous: None }
    }

    /// Replaces the secret with other random bytes at `now_ms`; `life_ms` is the longest life of
    /// a cookie that the old one signed.
    pub const fn rotate(&mut self, secret: [u8; 32], now_ms: u64, life_ms: u32) {
        let id = self.current.id.wrapping_add(1);
        self.previous = Some((self.current, now_ms.saturating_add(life_ms as u64)));
        self.current = CookieSecret { id, secret };
    }

    /// The secret that signs.
    pub const fn current(&self) -> &CookieSecret {
        &self.current
    }

    /// The secrets whose cookies may be valid at `now_ms`.
    pub fn valid(&self, now_ms: u64) -> Vec<CookieSecret> {
        let previous = self.previous.filter(|(_, until)| now_ms <= *until);
        [Some(self.current), previous.map(|(secret, _)| secret)].into_iter().flatten().collect()
    }
}
