//! Blocks and periods against 001 Table 7, and the numbers of services.

use super::services::Block;
use super::*;

fn vod(service: Service, run: u64) -> Vod {
    Vod { service, time: Vod::DEFAULT_TIME, draws: Draws::new((1, run), 3) }
}

/// Mean and standard deviation.
fn moments(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let square = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    [mean, square.sqrt()]
}

/// 001 Table 7, in megabytes and seconds. Values below a tenth of the mean are drawn as that.
#[test]
fn blocks_have_the_means_and_deviations_of_the_paper() {
    for (service, prefetch, block, period) in [
        (Service::Netflix, [40.57, 0.85], [5.18, 0.24], [72.04, 10.13]),
        (Service::NetflixIpad, [15.04, 2.64], [1.76, 0.52], [10.15, 2.65]),
    ] {
        let all: Vec<Vec<Block>> = (0..4000).map(|run| vod(service, run).blocks()).collect();
        let megabytes = |block: &Block| block.bytes as f64 / 1e6;
        // Four blocks of each: how many there are depends on the periods.
        let blocks = || all.iter().flat_map(|run| &run[1..4]);
        for (what, found, expected) in [
            ("prefetch", moments(all.iter().map(|run| megabytes(&run[0]))), prefetch),
            ("block", moments(blocks().map(megabytes)), block),
            ("period", moments(blocks().map(|block| block.period.as_secs_f64())), period),
        ] {
            assert!((found[0] / expected[0] - 1.0).abs() < 0.01, "{service:?} {what}: {found:?}");
            assert!((found[1] / expected[1] - 1.0).abs() < 0.04, "{service:?} {what}: {found:?}");
        }
    }
}

#[test]
fn youtube_has_10_to_15_mb_and_two_sizes_of_blocks_watched_in_their_periods() {
    let runs: Vec<Vec<Block>> = (0..200).map(|run| vod(Service::Youtube, run).blocks()).collect();
    let [mean, deviation] = moments(runs.iter().map(|run| run[0].bytes as f64 / 1e6));
    assert!((mean - 12.5).abs() < 0.3 && (deviation - 1.44).abs() < 0.2, "{mean} {deviation}");
    let blocks: Vec<&Block> = runs.iter().flat_map(|run| &run[1..]).collect();
    assert!(blocks.iter().all(|block| [64_000, 512_000].contains(&block.bytes)));
    assert!(blocks.iter().all(|block| block.period.as_micros() == block.bytes * 8));
    let small = blocks.iter().filter(|block| block.bytes == 64_000).count();
    assert!((small as f64 / blocks.len() as f64 - 0.5).abs() < 0.02);
}

#[test]
fn bit_rates_are_a_block_over_a_period() {
    assert_eq!(Service::Netflix.block_bps(), 575_235);
    assert_eq!(Service::NetflixIpad.block_bps(), 1_387_192);
    assert_eq!(Service::TABLE.map(|row| row.1.name()), Service::TABLE.map(|row| row.0));
}

#[test]
fn repetitions_differ_and_there_are_blocks_for_the_whole_time() {
    assert_ne!(vod(Service::Netflix, 0).blocks(), vod(Service::Netflix, 1).blocks());
    for (_, service, ..) in Service::TABLE.into_iter().filter(|row| row.1 != Service::Dash) {
        let blocks = vod(service, 0).blocks();
        let periods: f64 = blocks.iter().map(|block| block.period.as_secs_f64()).sum();
        assert!(periods > 300.0, "{service:?}: {periods} s");
        assert_eq!(vod(service, 0).web().page.objects().len(), blocks.len());
    }
}
