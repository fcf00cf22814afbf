//! Tests of recorded capacity: service against naive models, reading of every form, refusals.

use super::*;
use proptest::prelude::*;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn chances(millis: &[u32]) -> CapacityTrace {
    CapacityTrace::from_chances(millis.to_vec()).unwrap()
}

fn steps(described: &[(u64, u64)]) -> CapacityTrace {
    let steps: Vec<_> = described
        .iter()
        .map(|(millis, bps)| (Duration::from_millis(*millis), Rate::from_bps(*bps)))
        .collect();
    CapacityTrace::from_steps(&steps).unwrap()
}

/// Serve packets (arrival in us, bytes) one after the other; their ends in ns.
fn serve(trace: &CapacityTrace, packets: &[(u64, u32)]) -> Vec<u64> {
    let mut spent = Spent::default();
    let mut free = Instant::ZERO;
    let mut serve = |(arrival, bytes): &(u64, u32)| {
        let start = Instant::from_micros(*arrival).max(free);
        free = trace.finish(&mut spent, start, *bytes);
        free.as_nanos()
    };
    packets.iter().map(&mut serve).collect()
}

mod service {
    use super::*;

    #[test]
    fn chances_serve_one_full_packet_each_and_wrap_at_the_last_one() {
        // Period 5: chances at 1, 3, 5, then 6, 8, 10, ...
        let ends = serve(&chances(&[1, 3, 5]), &[(0, 1500); 7]);
        assert_eq!(ends, [1, 3, 5, 6, 8, 10, 11].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn small_packets_share_a_chance_and_a_large_one_waits_for_enough() {
        let trace = chances(&[1, 2, 3, 10]);
        let ends = serve(&trace, &[(0, 500), (0, 500), (0, 500), (0, 3001)]);
        assert_eq!(ends, [1, 1, 1, 10].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn what_a_chance_has_left_is_for_its_millisecond_only() {
        let trace = chances(&[1, 5, 5, 9]);
        let ends = serve(&trace, &[(1_000, 100), (1_999, 1400), (5_000, 100), (6_000, 100)]);
        assert_eq!(ends, [1_000_000, 1_999_000, 5_000_000, 9_000_000]);
    }

    #[test]
    fn unused_chances_are_lost() {
        let trace = chances(&[0, 1, 2, 3, 50]);
        assert_eq!(serve(&trace, &[(3_500, 1500), (3_600, 1500)]), [3_500_000, 50_000_000]);
    }

    #[test]
    fn last_and_first_chance_of_a_cycle_fall_on_one_millisecond() {
        // 0 and 4 in a period of 4: at 4 ms there are two.
        let ends = serve(&chances(&[0, 4]), &[(3_000, 1500); 4]);
        assert_eq!(ends, [4, 4, 8, 8].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn steps_continue_a_packet_across_changes_and_outages() {
        // 1500 bytes at 12 Mbit/s take 1 ms. 1 ms at 6 Mbit/s, 10 ms of nothing, then 12 Mbit/s.
        let trace = steps(&[(1, 6_000_000), (10, 0), (100, 12_000_000)]);
        let ends = serve(&trace, &[(0, 1500), (0, 1500)]);
        assert_eq!(ends, [11_500_000, 12_500_000]);
    }

    #[test]
    fn packet_that_ends_with_a_step_ends_before_the_outage() {
        let trace = steps(&[(1, 12_000_000), (10, 0)]);
        assert_eq!(serve(&trace, &[(0, 1500), (0, 1500)]), [1_000_000, 12_000_000]);
    }

    #[test]
    fn steps_do_not_drift() {
        // 3 Mbit/s do not divide 8000 bits evenly: 10^6 packets of 1000 bytes take 2666.66... s.
        let trace = steps(&[(7, 3_000_000)]);
        let mut spent = Spent::default();
        let mut end = Instant::ZERO;
        for _ in 0..1_000_000 {
            end = trace.finish(&mut spent, end, 1000);
        }
        assert_eq!(end.as_nanos(), 8_000_000_000_000_000 / 3_000);
    }

    #[test]
    fn idle_years_cost_nothing() {
        let trace = chances(&[1, 2, 3]);
        let mut spent = Spent::default();
        let late = Instant::from_secs(1_000_000_000);
        assert!(trace.finish(&mut spent, late, 1500) >= late);
        let trace = steps(&[(1, 1), (1_000_000, 0)]);
        let mut spent = Spent::default();
        // 12,000 bits at a thousandth of a bit per 1000.001 s.
        let end = trace.finish(&mut spent, Instant::ZERO, 1500);
        assert_eq!(end.as_nanos(), 11_999_999 * 1_000_001_000_000 + 1_000_000);
    }

    #[test]
    fn offset_beyond_time_saturates() {
        let trace = steps(&[(1, 8)]);
        let mut spent = Spent::default();
        let end = trace.finish(&mut spent, Instant::FAR_FUTURE, 1500);
        assert_eq!(end, Instant::FAR_FUTURE);
    }

    /// mahimahi's rule as a loop over milliseconds: every chance of a millisecond goes into a pot
    /// that is emptied when the millisecond is over.
    fn naive_chances(millis: &[u32], packets: &[(u64, u32)]) -> Vec<u64> {
        let period = u64::from(*millis.last().unwrap());
        let mut ends = Vec::new();
        let (mut now, mut pot) = (0u64, pot_of(millis, period, 0));
        let mut free = 0;
        for (arrival, bytes) in packets {
            let start = (*arrival * 1000).max(free);
            let mut end = start;
            while start / 1_000_000 > now {
                now += 1;
                pot = pot_of(millis, period, now);
            }
            let mut left = u64::from(*bytes);
            while left > pot {
                left -= pot;
                now += 1;
                pot = pot_of(millis, period, now);
                end = now * 1_000_000;
            }
            pot -= left;
            free = end.max(start);
            ends.push(free);
        }
        ends
    }

    fn pot_of(millis: &[u32], period: u64, now: u64) -> u64 {
        let at = |ms: u64| millis.iter().filter(|m| u64::from(**m) == ms).count() as u64;
        let end_of_last = if now >= period && now.is_multiple_of(period) { at(period) } else { 0 };
        1500 * (at(now % period) + end_of_last)
    }

    fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
        prop::collection::vec((0u64..60_000, 1u32..5000), 1..40).prop_map(|mut packets| {
            packets.sort_by_key(|(arrival, _)| *arrival);
            packets
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn chances_serve_as_a_loop_over_milliseconds_would(
            mut millis in prop::collection::vec(0u32..20, 1..12),
            packets in packets(),
        ) {
            millis.push(20);
            millis.sort_unstable();
            prop_assert_eq!(serve(&chances(&millis), &packets), naive_chances(&millis, &packets));
        }

        #[test]
        fn steps_serve_as_a_loop_over_steps_would(
            described in prop::collection::vec(
                (1u64..9, prop_oneof![Just(0u64), 1u64..5_000_000, Just(1_000_000_000)]), 1..8),
            packets in packets(),
        ) {
            prop_assume!(described.iter().any(|(_, bps)| *bps > 0));
            let ends = serve(&steps(&described), &packets);
            let naive = naive_steps(&described, &packets);
            for (end, naive) in ends.iter().zip(&naive) {
                // The loop works in floating point.
                prop_assert!((*end as f64 - naive).abs() < 5.0 + naive * 1e-9, "{end} {naive}");
            }
        }
    }

    fn naive_steps(described: &[(u64, u64)], packets: &[(u64, u32)]) -> Vec<f64> {
        let period: u64 = described.iter().map(|(millis, _)| millis * 1_000_000).sum();
        let mut free = 0.0;
        let mut ends = Vec::new();
        for (arrival, bytes) in packets {
            let mut now = (*arrival as f64 * 1000.0).max(free);
            let mut bits = f64::from(*bytes) * 8.0;
            'packet: loop {
                let cycle = (now / period as f64).floor() * period as f64;
                let mut start = cycle;
                for (millis, bps) in described {
                    let end = start + *millis as f64 * 1e6;
                    if now < end {
                        let here = (end - now) * *bps as f64 / 1e9;
                        if here >= bits && *bps > 0 {
                            now += bits * 1e9 / *bps as f64;
                            break 'packet;
                        }
                        bits -= here;
                        now = end;
                    }
                    start = end;
                }
            }
            free = now;
            ends.push(now);
        }
        ends
    }
}

mod reading {
    use super::*;

    fn down(text: &str) -> Result<(CapacityTrace, Form), TraceError> {
        read(text, Direction::Down, None)
    }

    fn fault(text: &str) -> (Option<usize>, TraceFault) {
        match down(text) {
            Err(error) => {
                assert!(!error.fault.mend().is_empty() && !error.to_string().is_empty());
                (error.line, error.fault)
            }
            Ok((_, form)) => panic!("{text:?} was read as {form}"),
        }
    }

    #[test]
    fn mahimahi_is_one_column_of_milliseconds() {
        let (trace, form) = down("0\n1\n1\r\n\n3\n").unwrap();
        assert_eq!((form, trace), (Form::Mahimahi, chances(&[0, 1, 1, 3])));
        assert!(read("1\n2\n", Direction::Up, Some(Unit::Millis)).is_ok());
    }

    #[test]
    fn decimals_after_white_space_are_mbit() {
        let (trace, form) = down("0.0\t4.5\n0.5 2.25\n1.5 1.0\n").unwrap();
        assert_eq!(form, Form::Columns(Unit::Mbit));
        assert_eq!(trace, steps(&[(500, 4_500_000), (1000, 2_250_000), (1000, 1_000_000)]));
    }

    #[test]
    fn large_whole_numbers_in_csv_are_bytes() {
        let (trace, form) = down("1,783530\r\n2,0\r\n3,125000\r\n").unwrap();
        assert_eq!(form, Form::Columns(Unit::Bytes));
        assert_eq!(trace, steps(&[(1000, 6_268_240), (1000, 0), (1000, 1_000_000)]));
    }

    #[test]
    fn unclear_columns_need_a_unit() {
        for text in ["0 5\n1 6\n", "1,5\n2,6\n", "0,5.5\n1,6.5\n", "0.0 250000.5\n1.0 3.5\n"] {
            let (line, fault) = fault(text);
            assert!(matches!(fault, TraceFault::Ambiguous { .. }), "{text:?}: {fault}");
            assert_eq!(line, None);
        }
        let unit = |unit| read("0 5\n1 6\n", Direction::Down, Some(unit)).unwrap().0.mean_rate();
        assert_eq!(unit(Unit::Mbit), Rate::from_bps(5_500_000));
        assert_eq!(unit(Unit::Kbit), Rate::from_bps(5_500));
        assert_eq!(unit(Unit::Bytes), Rate::from_bps(44));
    }

    #[test]
    fn header_may_name_the_unit() {
        let (_, form) = down("time,rate_mbit\n0,5\n1,6\n").unwrap();
        assert_eq!(form, Form::Columns(Unit::Mbit));
        assert!(matches!(fault("time,Mbps\n0,5\n1,6\n").1, TraceFault::Ambiguous { .. }));
    }

    /// Regression: the values were read as bytes, and the times as seconds.
    #[test]
    fn header_may_name_a_prefix_and_milliseconds() {
        let read = |text: &str| down(text).unwrap().0;
        let expected = steps(&[(500, 8_000_000), (500, 16_000_000)]);
        assert_eq!(read("time,Throughput (bits/s)\n0,8000000\n0.5,16000000\n"), expected);
        assert_eq!(read("time_ms,MBytes/s\n0,1\n500,2\n"), expected);
        assert_eq!(read("Time (ms),kByte/s\n0,1000\n500,2000\n"), expected);
        assert!(matches!(fault("time,bps\n0,800000\n").1, TraceFault::Ambiguous { .. }));
        assert_eq!(fault("time_us,kbit\n0,800000\n").0, Some(1));
    }

    /// Regression: a heading of iperf's unit made a table its output.
    #[test]
    fn heading_of_bits_per_second_is_not_output_of_iperf() {
        let (trace, form) = down("Time (s),Kbits/sec\n0,4000\n1,3000\n").unwrap();
        assert_eq!(form, Form::Columns(Unit::Kbit));
        assert_eq!(trace, steps(&[(1000, 4_000_000), (1000, 3_000_000)]));
        let reported = "- - - 0.00 bits/sec\n";
        assert!(matches!(fault(reported).1, TraceFault::NotCapacity { .. }));
    }

    /// Regression: rates that do not fall were read as times, and times as rates.
    #[test]
    fn rates_before_times_are_refused() {
        let (line, why) = fault("# x\nrate_mbit time_s\n4.5 0.0\n6.0 1.0\n8.0 2.0\n");
        assert!(matches!(why, TraceFault::Malformed { .. }), "{why}");
        assert_eq!(line, Some(2));
    }

    /// Regression: milliseconds were limited to 317 years of seconds, so those since 1970 were out
    /// of range.
    #[test]
    fn times_since_1970_may_be_milliseconds() {
        let read = |text: &str| down(text).unwrap().0;
        let expected = steps(&[(500, 8_000_000), (500, 16_000_000)]);
        assert_eq!(read("time,Mbit/s\n1700000000.0,8\n1700000000.5,16\n"), expected);
        assert_eq!(read("time_ms,Mbit/s\n1700000000000,8\n1700000000500,16\n"), expected);
        let too_long = fault("time_ms,Mbit/s\n20000000000000,8\n20000000000500,16\n");
        assert!(matches!(too_long, (Some(2), TraceFault::OutOfRange { .. })), "{too_long:?}");
    }

    #[test]
    fn unit_that_contradicts_the_form_is_refused() {
        let with = |text, unit| read(text, Direction::Down, Some(unit)).unwrap_err().fault;
        assert!(matches!(with("0 5\n1 6\n", Unit::Millis), TraceFault::Unit { .. }));
        assert!(matches!(with("0\n5\n", Unit::Mbit), TraceFault::Unit { .. }));
        let json = r#"[{"duration_ms": 1, "bandwidth_kbps": 1}]"#;
        assert!(matches!(with(json, Unit::Mbit), TraceFault::Unit { .. }));
    }

    /// Regression: `unit=` replaced the unit of the heading, and the capacity was wrong by a factor
    /// of 1000 or more.
    #[test]
    fn unit_that_contradicts_the_heading_is_refused() {
        let with = |text, unit| read(text, Direction::Down, Some(unit));
        for (text, unit) in [
            ("time_ms,rate (Mbit/s)\n0,5\n1000,6\n", Unit::Kbit),
            ("second,bytes-per-second\n0,500000\n1,600000\n", Unit::Mbit),
            ("time,kByte/s\n0,500\n1,600\n", Unit::Bytes),
        ] {
            let why = with(text, unit).unwrap_err();
            assert!(matches!(why.fault, TraceFault::Unit { .. }), "{text:?}: {why:?}");
            assert_eq!(why.line, Some(1));
        }
        let (same, _) = with("time_ms,rate (Mbit/s)\n0,5\n1000,6\n", Unit::Mbit).unwrap();
        assert_eq!(same.mean_rate(), Rate::from_bps(5_500_000));
        let (decided, _) = with("time,Mbps\n0,5\n1,6\n", Unit::Mbit).unwrap();
        assert_eq!(decided.mean_rate(), Rate::from_bps(5_500_000), "`Mbps` is ambiguous");
    }

    #[test]
    fn json_of_durations_and_rates() {
        let text = "[\n {\"duration_ms\": 725, \"bandwidth_kbps\": 36014, \"latency_ms\": 20},\n \
                    {\"bandwidth_kbps\":0,\"note\":\"x\",\"duration_ms\":1000}\n]\n";
        let (trace, form) = down(text).unwrap();
        assert_eq!((form, trace), (Form::Json, steps(&[(725, 36_014_000), (1000, 0)])));
    }

    #[test]
    fn broken_json_names_the_line() {
        let line = |text| fault(text).0;
        assert_eq!(line("[\n{\"duration_ms\": 1}\n]"), Some(2));
        assert_eq!(line("[\n{\"duration_ms\": 1,\n\"bandwidth_kbps\": -4}\n]"), Some(3));
        assert_eq!(line("[\n{\"duration_ms\": 1,\n\"bandwidth_kbps\": NaN}\n]"), Some(3));
        assert_eq!(line("{\"end\": 1}"), Some(1));
        assert_eq!(line("[{\"duration_ms\": [1], \"bandwidth_kbps\": 1}]"), Some(1));
        assert_eq!(line("[{\"duration_ms\": 1, \"bandwidth_kbps\": 1}"), Some(1));
        assert_eq!(line("[{\"duration_ms\": 1, \"bandwidth_kbps\": 1}] x"), Some(1));
        assert_eq!(fault("[]"), (None, TraceFault::Empty));
    }

    #[test]
    fn throughput_list_is_told_from_a_list_of_ping_times() {
        let head = "\n#####\nRun 1\n";
        let (trace, form) =
            down(&format!("{head}33.61344,43.39896\n\n####\nRun 2\n1.5\n")).unwrap();
        assert_eq!(form, Form::RunList);
        assert_eq!(trace, steps(&[(100, 33_613_440), (100, 43_398_960), (100, 1_500_000)]));
        let pings = format!("{head}45.2,32.3,282.0,9.91,1034.0\n");
        assert!(matches!(fault(&pings).1, TraceFault::NotCapacity { .. }));
        assert!(read(&pings, Direction::Down, Some(Unit::Mbit)).is_ok());
    }

    #[test]
    fn bitrate_table_has_a_column_per_direction() {
        let text = "Timestamp,Speed,DL_bitrate,UL_bitrate,State\n\
                    2020.01.16_07.26.59,1,100,7,I\n2020.01.16_07.26.59,1,300,9,I\n\
                    2020.01.16_07.27.01,1,50,-,I\n2020.01.16_07.27.02,1,60,4,I\n";
        let (trace, _) = down(text).unwrap();
        assert_eq!(trace, steps(&[(2000, 200_000), (1000, 50_000), (1000, 60_000)]));
        let (trace, form) = read(text, Direction::Up, None).unwrap();
        assert_eq!(form, Form::BitrateTable(Direction::Up));
        assert_eq!(trace, steps(&[(3000, 8_000), (1000, 4_000)]));
        let quoted: String =
            text.lines().map(|line| format!("\"{}\"\n", line.replace(',', "\",\""))).collect();
        assert_eq!(read(&quoted, Direction::Up, None).unwrap(), (trace, form));
        let one_way = text.replace("UL_bitrate", "Other");
        let (_, form) = read(&one_way, Direction::Up, None).unwrap();
        assert_eq!(form, Form::BitrateTable(Direction::Down));
    }

    #[test]
    fn other_kinds_are_refused_by_name() {
        let what = |text: &str| match fault(text).1 {
            TraceFault::NotCapacity { what, .. } => what,
            other => panic!("{text:?}: {other}"),
        };
        assert!(what("iperf 3.10.1\nLinux\n").contains("iperf"));
        assert!(what("[ ID] Interval           Transfer     Bitrate\n").contains("iperf"));
        assert!(what("[  5]   0.00-1.00   sec  1.60 MBytes  13.4 Mbits/sec\n").contains("iperf"));
        assert!(what("frame.time_epoch,ip.src\n1,2\n").contains("per-packet"));
        assert!(what("time_s,dir,flow,payload_bytes,frame_bytes\n").contains("per-packet"));
        let exported =
            "\"No.\",\"Time\",\"Source\",\"Destination\",\"Protocol\",\"Length\",\"Info\"\n";
        assert!(what(exported).contains("per-packet"), "Wireshark's export");
        assert!(what("64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=1 ms\n").contains("ping"));
        assert!(what("# mahimahi mm-link\n0 # 1500\n").contains("mm-link"));
        assert!(what("5 + 1500\n").contains("mm-link"));
        assert!(what("PK\u{3}\u{4}").contains("binary"));
    }

    /// Regression: a comment with the name of a program decided the format.
    #[test]
    fn comments_do_not_decide_the_format() {
        for comment in ["# converted from iperf", " # ping: bytes from x", "# mahimahi", "#ip.src"]
        {
            let (_, form) = down(&format!("{comment}\n1\n2\n")).unwrap();
            assert_eq!(form, Form::Mahimahi, "{comment}");
        }
    }

    #[test]
    fn bad_lines_are_refused_with_their_number() {
        let line = |text| fault(text).0;
        assert_eq!(line("1\n2\nx\n"), Some(3));
        assert_eq!(line("1\n3\n2\n"), Some(3));
        assert_eq!(line("1\n-3\n"), Some(2));
        assert_eq!(line("1\n2.5\n"), Some(2));
        assert_eq!(line("1\n99999999999999999999999\n"), Some(2));
        assert_eq!(line("0.5 1.5\n0.6 nan\n"), Some(2));
        assert_eq!(line("0.5 1.5\n0.6 inf\n"), Some(2));
        assert_eq!(line("0.5 1.5\n0.6 -1.0\n"), Some(2));
        assert_eq!(line("0.5 1.5\n0.4 1.0\n"), Some(2));
        assert_eq!(line("0.5 1.5\n0.6 1.5 7\n"), Some(2));
        assert_eq!(line("0.5 1.5\n0.6 1e30\n"), Some(2));
        assert_eq!(line("1,200000\n2,1e12\n"), Some(2));
    }

    #[test]
    fn recordings_of_nothing_are_refused() {
        assert_eq!(fault(""), (None, TraceFault::Empty));
        assert_eq!(fault(" \n\n# comment\n"), (None, TraceFault::Empty));
        assert_eq!(fault("0\n0\n"), (None, TraceFault::NoTime));
        assert_eq!(fault("0.0 1.5\n"), (None, TraceFault::NoTime));
        assert_eq!(fault("0.0 0.0\n1.0 0.0\n"), (None, TraceFault::NoCapacity));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn no_text_panics(
            text in concat!(
                "(\\[|\\{|\\}|\\]|\"duration_ms\"|\"bandwidth_kbps\"|:|,|;|Run|#|nan|1e309|-|",
                "[0-9]{1,22}|\\.|Timestamp,DL_bitrate\n|\n|\t| ){0,30}",
            ),
        ) {
            for direction in [Direction::Down, Direction::Up] {
                for unit in [None, Some(Unit::Mbit), Some(Unit::Millis)] {
                    if let Ok((trace, _)) = read(&text, direction, unit) {
                        let mut spent = Spent::default();
                        let end = trace.finish(&mut spent, ms(3), 1500);
                        prop_assert!(end >= ms(3));
                        trace.mean_rate();
                        trace.rate_at(Duration::from_millis(7));
                    }
                }
            }
        }

        #[test]
        fn no_characters_panic(text in "\\PC{0,60}") {
            let _ = read(&text, Direction::Down, None);
        }
    }

    /// Regression: a time that is repeated at the end took the last value away.
    #[test]
    fn last_of_several_values_for_the_last_time_lasts_as_long_as_the_one_before() {
        let of = |text: &str| read(text, Direction::Down, None).map(|(trace, _)| trace).unwrap();
        assert_eq!(of("0 4.0\n1 5.0\n1 6.0\n"), of("0 4.0\n1 6.0\n"));
        assert_eq!(of("0 4.0\n1 5.0\n1 6.0\n3 2.0\n").period(), Duration::from_secs(5));
        assert_eq!(of("0,100000\n1,900000\n1,800000\n").period(), Duration::from_secs(2));
    }

    #[test]
    fn gap_in_a_recording_is_found() {
        let seconds = |missing: std::ops::Range<u32>| {
            (1..60)
                .filter(|second| !missing.contains(second))
                .map(|second| format!("{second},1000000\r\n"))
                .collect::<String>()
        };
        let gap = |text: &str| {
            read(text, Direction::Down, None).map(|(trace, _)| trace.longest_gap()).unwrap()
        };
        assert_eq!(gap(&seconds(20..31)), Some(Duration::from_secs(12)));
        assert_eq!(gap(&seconds(20..23)), None, "four seconds are not five times one");
        assert_eq!(gap(&seconds(0..0)), None);
    }
}

mod slowest {
    use super::*;

    #[test]
    fn silence_counts_over_the_end_and_volume_from_the_slowest_sample() {
        // 2 s without capacity at the end, 1 s at the beginning.
        let steps = steps(&[(1000, 0), (4000, 8000), (1000, 800), (2000, 0)]);
        assert_eq!(steps.longest_silence(), Duration::from_millis(3000));
        // 100 bytes in the slow second, none for 3 s, 900 in 900 ms.
        assert_eq!(steps.longest_time_for(1000), Duration::from_millis(1000 + 3000 + 900));
        let whole = 4 * 1000 + 100;
        // Regression: 1050 ms were found, from the beginning of the slow second on. 500 bytes
        // before it and 100 in it take 1500 ms.
        let ends = self::steps(&[(1000, 8000), (1000, 800), (1000, 80_000)]);
        assert_eq!(ends.longest_time_for(600), Duration::from_millis(1500));
        let twice = steps.longest_time_for(2 * whole) - steps.longest_time_for(whole);
        assert_eq!(twice, steps.period());
        let chances = chances(&[10, 20, 21, 90]);
        assert_eq!(chances.longest_silence(), Duration::from_millis(69));
        assert_eq!(chances.longest_time_for(3000), Duration::from_millis(79), "21 to 100");
        assert_eq!(chances.longest_time_for(9 * 1500), Duration::from_millis(2 * 90 + 69));
        assert_eq!([&steps, &chances].map(|of| of.longest_time_for(0)), [Duration::ZERO; 2]);
        for of in [steps, chances, self::steps(&[(u64::MAX / 2_000_000, 0), (1, 1)])] {
            assert!(of.longest_time_for(u64::MAX) >= of.period());
        }
    }

    proptest! {
        #[test]
        fn nothing_takes_longer_whenever_it_begins(
            described in proptest::collection::vec((1u64..3000, 0u64..40_000), 1..8),
            bytes in 1u32..20_000,
            other in 0u64..20_000,
        ) {
            prop_assume!(described.iter().any(|(_, bps)| *bps > 0));
            let trace = steps(&described);
            let end_of = |start| {
                let start = Instant::ZERO + Duration::from_nanos(start);
                (trace.finish(&mut Spent::default(), start, bytes) - Instant::ZERO).as_nanos()
            };
            let period = trace.period().as_nanos();
            let mut starts = vec![other * 1_000_000 % period];
            let mut boundary = 0;
            for (millis, _) in &described {
                starts.push(boundary);
                boundary += millis * 1_000_000;
                // The first starts whose ends are not before the boundary in later periods.
                for later in [0, 1].map(|more| boundary + (end_of(0) / period + more) * period) {
                    let (mut low, mut high) = (0, period);
                    while low < high {
                        let middle = u64::midpoint(low, high);
                        (low, high) =
                            if end_of(middle) < later { (middle + 1, high) } else { (low, middle) };
                    }
                    starts.push(low);
                }
            }
            let longest = starts.iter().map(|start| end_of(*start) - start).max().unwrap();
            let found = trace.longest_time_for(u64::from(bytes)).as_nanos();
            prop_assert!(longest <= found + 1, "{found}, not {longest}");
            // A nanosecond at 40 kbit/s is 40 us at 1 bit/s; start and end are rounded.
            prop_assert!(found <= longest + 80_000, "{found}, not {longest}");
        }
    }
}
