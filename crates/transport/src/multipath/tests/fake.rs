//! A protocol for tests: paths of windows in bytes, and what they were given.

use crate::multipath::{Paths, Piece, Progress, Prompt};
use crate::scheduler::tests::support;
use crate::scheduler::{PathState, PathView, WindowView};
use base::{Context, Duration, Instant, PathId};
use std::ops::Range;

pub(super) const SEGMENT: u32 = 1000;

pub(super) struct FakePath {
    pub state: PathState,
    pub srtt_ms: u64,
    pub cwnd: u64,
    /// Everything below this place in `given` is acknowledged.
    pub una: usize,
    pub given: Vec<Range<u64>>,
}

#[derive(Default)]
pub(super) struct Fake {
    pub paths: Vec<FakePath>,
    /// Copies are refused.
    pub vetoes: bool,
    pub max_piece: u32,
    pub prompts: Vec<(PathId, Prompt)>,
    pub is_over: bool,
}

impl Fake {
    /// Paths with an RTT in milliseconds and a window in bytes.
    pub(super) fn new(paths: &[(u64, u64)]) -> Self {
        let (state, una) = (PathState::Open, 0);
        let path = |&(srtt_ms, cwnd)| FakePath { state, srtt_ms, cwnd, una, given: Vec::new() };
        let paths = paths.iter().map(path).collect();
        Fake { paths, max_piece: u32::from(u16::MAX), ..Fake::default() }
    }

    fn outstanding(&self, path: PathId) -> u64 {
        let FakePath { una, given, .. } = &self.paths[path.index()];
        given[*una..].iter().map(|range| range.end - range.start).sum()
    }
}

impl Paths for Fake {
    fn count(&self) -> usize {
        self.paths.len()
    }

    fn view(&self, id: PathId) -> Option<PathView> {
        let path = &self.paths[id.index()];
        let mut view = PathView { state: path.state, ..support::path(id.0, path.srtt_ms, 1, 0) };
        let inflight = self.outstanding(id);
        view.window = WindowView::from_bytes(SEGMENT, path.cwnd, None, inflight);
        view.queue.outstanding_bytes = inflight;
        Some(view)
    }

    fn max_piece(&self, _: PathId) -> u32 {
        self.max_piece
    }

    fn may_copy(&self, _: PathId, _: &Range<u64>) -> bool {
        !self.vetoes
    }

    fn accepts_copies(&self) -> bool {
        !self.vetoes
    }

    fn enqueue(&mut self, id: PathId, piece: Piece) {
        let range = piece.offset..piece.offset + u64::from(piece.payload.len());
        self.paths[id.index()].given.push(range);
    }

    fn progress(&self, id: PathId) -> Progress {
        let FakePath { una, srtt_ms, .. } = self.paths[id.index()];
        let has_outstanding = self.outstanding(id) > 0;
        let rto = Duration::from_millis(2 * srtt_ms);
        Progress { una: una as u64, is_sacked: false, has_outstanding, is_backup: false, rto }
    }

    fn timer_left(&self, path: PathId, _: Instant, counts_unsent: bool) -> Option<Duration> {
        let progress = self.progress(path);
        (counts_unsent && progress.has_outstanding).then_some(progress.rto)
    }

    fn prompt(&mut self, _: &Context<'_>, id: PathId, prompt: Prompt) {
        self.prompts.push((id, prompt));
    }

    fn unsent(&self, id: PathId) -> u64 {
        self.outstanding(id).saturating_sub(self.paths[id.index()].cwnd)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}
