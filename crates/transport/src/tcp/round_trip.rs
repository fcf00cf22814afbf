//! The round-trip time of a subflow: which samples an acknowledgement gives (Karn's algorithm,
//! RFC 6298 s3; timestamps, RFC 7323 s4), and the estimators that they update.

use super::ack_info::AckInfo;
use super::handshake::Handshake;
use super::subflow::FlowId;
use crate::recovery::{MinRttFilter, RttEstimator};
use base::{Context, Duration, Event, EventMask, Instant, prefetch};
use std::hint::cold_path;

/// The estimators of one path.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct RoundTrip {
    estimator: RttEstimator,
    min: MinRttFilter,
}

/// The samples of one acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Samples {
    /// The sample of the oldest segment, for the smoothed estimate.
    pub oldest: Duration,
    /// The sample of the newest segment, for the minimum and the congestion controller.
    pub newest: Duration,
}

impl Default for RoundTrip {
    /// No sample; Linux's arithmetic and its window of the minimum.
    fn default() -> Self {
        RoundTrip { estimator: RttEstimator::new(), min: MinRttFilter::default() }
    }
}

impl RoundTrip {
    /// The samples that an acknowledgement gives, if any. Where the head of the outstanding
    /// segments was sent after the sampled ones (`head_sent_at`), the retransmission timer is to be
    /// restarted, as Linux does.
    #[inline(always)]
    pub(super) fn samples_of(
        now: Instant,
        info: &mut AckInfo,
        handshake: &Handshake,
        head_sent_at: impl FnOnce() -> Option<Instant>,
    ) -> Option<Samples> {
        let mut oldest = None;
        let mut newest = None;
        if let Some((first, last)) = info.delivered.acked_sent
            && !info.delivered.retransmitted_acked
        {
            oldest = Some(now - first);
            newest = Some(now - last);
        }
        if let Some((first, last)) = info.delivered.sacked_sent {
            cold_path();
            let rtt = oldest.unwrap_or(now - first);
            oldest = Some(rtt);
            newest = Some(now - last);
            info.restart_timer |= head_sent_at().is_some_and(|sent_at| rtt > now - sent_at);
        }
        if oldest.is_none() && info.una_advanced {
            cold_path();
            oldest = handshake.rtt_of_echo(now, info.echo);
            newest = oldest;
        }
        let oldest = oldest?;
        let newest = newest.unwrap_or(oldest);
        info.rtt = Some(newest);
        Some(Samples { oldest, newest })
    }

    /// Takes samples over; the offsets are those after the acknowledgement that gave them.
    // Inlined into its one use for each acknowledgement.
    #[inline(always)]
    pub(super) fn on_samples(
        &mut self,
        now: Instant,
        samples: &Samples,
        snd_una: u64,
        snd_nxt: u64,
    ) {
        debug_assert!(snd_una <= snd_nxt);
        self.min.update(now, samples.newest);
        self.estimator.sample(samples.oldest, snd_una, snd_nxt);
    }

    /// Takes the sample of the handshake over.
    #[cold]
    pub(super) fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.on_samples(now, &Samples { oldest: rtt, newest: rtt }, 0, 0);
    }

    /// The handshake was retransmitted and gave no sample (RFC 6298 s5.7).
    pub(super) fn on_handshake_timeout(&mut self) {
        self.estimator.on_handshake_timeout();
    }

    /// The retransmission timer fired.
    pub(super) fn back_off(&mut self) {
        self.estimator.back_off();
    }

    /// Ends the back-off.
    pub(super) fn reset_back_off(&mut self) {
        self.estimator.reset_back_off();
    }

    /// Requests the memory of the minimum.
    pub(super) fn prefetch_more(&self) {
        self.estimator.prefetch();
        prefetch(&self.min);
    }

    /// The estimator.
    pub(super) const fn estimator(&self) -> &RttEstimator {
        &self.estimator
    }

    /// Smoothed RTT; zero before the first sample.
    pub(super) const fn srtt(&self) -> Duration {
        self.estimator.srtt()
    }

    /// The retransmission time-out.
    pub(super) fn rto(&self) -> Duration {
        self.estimator.rto()
    }

    /// The windowed minimum; zero before the first sample.
    pub(super) fn min(&self) -> Duration {
        self.min.get()
    }

    /// Reports a sample to the recorder.
    pub(super) fn record(&self, cx: &mut Context<'_>, id: FlowId, sample: Duration) {
        cx.record(EventMask::WINDOW, || Event::RttSample {
            socket: id.socket,
            path: id.path,
            sample,
            srtt: self.estimator.srtt(),
            rttvar: self.estimator.rttvar(),
            rto: self.estimator.rto(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::SeqNumber;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// An acknowledgement at 100 ms; the head was sent at 50 ms.
    fn samples(info: &mut AckInfo) -> Option<Samples> {
        let handshake = Handshake::new(SeqNumber(1), 0, 7);
        RoundTrip::samples_of(at(100), info, &handshake, || Some(at(50)))
    }

    #[test]
    fn retransmitted_segments_give_no_sample_but_their_timestamp_does() {
        let mut info = AckInfo { una_advanced: true, ..AckInfo::default() };
        info.delivered.acked_sent = Some((at(10), at(20)));
        let both = Samples { oldest: at(100) - at(10), newest: at(100) - at(20) };
        assert_eq!(samples(&mut info), Some(both));
        info.delivered.retransmitted_acked = true;
        assert_eq!(samples(&mut info), None);
        info.echo = Some(70);
        assert_eq!(samples(&mut info).unwrap().oldest, Duration::from_millis(30));
    }

    #[test]
    fn sample_older_than_the_head_restarts_the_timer() {
        let mut info = AckInfo::default();
        info.delivered.sacked_sent = Some((at(60), at(70)));
        assert!(samples(&mut info).is_some() && !info.restart_timer);
        info.delivered.sacked_sent = Some((at(40), at(70)));
        assert!(samples(&mut info).is_some() && info.restart_timer);
    }
}
