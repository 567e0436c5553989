//! The clocks of hosts: offsets, drifts, and the wall clock.

use std::time::SystemTime;

use joint_executor::time::wall;

use crate::prelude::*;

const MILLION: i32 = 1_000_000;

/// Runs this on a host with these clocks.
async fn with_clock<F: Future + 'static>(
    (offset_ms, drift_ppm): (i64, i32),
    program: fn() -> F,
) -> F::Output {
    let host = Host::new("a");
    host.clock(offset_ms, drift_ppm);
    on_host(&host, program).await
}

/// The time since the start of the run by the wall clock.
fn wall_passed() -> Duration {
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_800);
    wall().duration_since(begin).unwrap()
}

#[test]
fn a_run_begins_with_the_year_2000_and_time_passes_outside() {
    sim::run(1, async {
        assert_eq!(wall_passed(), Duration::ZERO);
        sleep(5 * SECOND).await;
        assert_eq!(wall_passed(), 5 * SECOND);
        assert_eq!(spawn_blocking(wall_passed).await, 5 * SECOND);
    });
    // The real time, years later.
    assert!(wall_passed() > 20 * 365 * 24 * 3600 * SECOND);
}

#[test]
fn an_offset_is_that_of_the_wall_clock_of_one_host_alone() {
    sim::run(1, async {
        sleep(60 * SECOND).await;
        let start = now();
        let (there, then) = with_clock((-20_500, 0), || async { (wall_passed(), now()) }).await;
        assert_eq!(there, 39 * SECOND + SECOND / 2);
        assert_eq!(then, start);
        assert_eq!(wall_passed(), 60 * SECOND);
        current_host().clock(1_000, 0);
        assert_eq!(wall_passed(), 61 * SECOND);
        current_host().clock(0, 0);
        assert_eq!(wall_passed(), 60 * SECOND);
    });
}

#[test]
fn a_timer_is_never_early_and_late_by_less_than_the_clock_shows() {
    for drift_ppm in [-MILLION + 1, -999_983, -100, -1, 1, 100, 123_457, i32::MAX] {
        sim::run(1, async move {
            let late = with_clock((0, drift_ppm), || async {
                let mut late = Vec::new();
                for nanos in [1, 2, 3, 999, 1_000_007, 3_600_000_000_011] {
                    let (start, time) = (now(), Duration::from_nanos(nanos));
                    sleep(time).await;
                    late.push((now() - start).checked_sub(time).unwrap());
                }
                late
            })
            .await;
            // What passes on its clock in a nanosecond, and what is rounded.
            let tick = Duration::from_nanos(4 + drift_ppm.max(0) as u64 / 1_000_000);
            assert!(
                late.iter().all(|late| *late < tick),
                "{drift_ppm}: {late:?}"
            );
        });
    }
}

#[test]
fn timers_that_are_armed_follow_a_clock_that_is_set() {
    sim::run(1, async {
        let start = now();
        let host = Host::new("a");
        host.run(|| async {
            let start = now();
            sleep(100 * SECOND).await;
            assert_eq!(now() - start, 100 * SECOND);
        });
        sleep(50 * SECOND).await;
        host.clock(0, MILLION);
        sleep(10 * SECOND).await;
        host.clock(0, -MILLION / 2);
        // By its clock, 70 s have passed.
        let _ = host.ended().await;
        assert_eq!(now() - start, 120 * SECOND);
    });
}

#[test]
fn a_clock_survives_a_crash_and_serves_all_timers_of_its_host() {
    sim::run(1, async {
        let host = Host::new("a");
        host.clock(0, MILLION);
        host.run(|| async {
            executor(1).spawn(sleep(20 * SECOND)).await;
        });
        sleep(SECOND).await;
        host.kill();
        let start = now();
        host.restart();
        let _ = host.ended().await;
        assert_eq!(now() - start, 10 * SECOND);
    });
}

#[test]
fn waits_that_block_and_calls_have_the_clock_of_their_host() {
    each_seed(20, || async {
        let start = now();
        // It runs inside the polls of the host that block.
        let ticks = spawn(async move {
            let mut ticks = interval(SECOND);
            for second in 1_u32.. {
                ticks.tick().await;
                assert_eq!(now() - start, (second - 1) * SECOND);
            }
        });
        with_clock((0, MILLION), || async {
            let start = now();
            let passed = move || now() - start;
            park::block_on_timeout(pending::<()>(), 10 * SECOND);
            assert_eq!(passed(), 10 * SECOND);
            block_on(executor(1).spawn(sleep(10 * SECOND)));
            assert_eq!(passed(), 20 * SECOND);
            let call = spawn_blocking(move || {
                park::block_on_timeout(pending::<()>(), 10 * SECOND);
                passed()
            });
            assert_eq!(call.await, 30 * SECOND);
            assert_eq!(passed(), 30 * SECOND);
        })
        .await;
        assert_eq!(now() - start, 15 * SECOND);
        drop(ticks);
    });
}

#[test]
fn reports_show_the_true_time() {
    let run = Builder::new(1).trace(true).run(async {
        let host = Host::new("a");
        host.clock(0, MILLION);
        host.run(|| sleep(20 * SECOND));
        sleep(SECOND).await;
    });
    let run = run.unwrap();
    let waits = run.unfinished[0].to_string();
    says(&waits, "a timer that is due at 10s;");
    says(run.trace.unwrap(), "armed a timer for 10s");
}

#[test]
fn a_clock_that_stands_still_or_cannot_be_shown_is_refused() {
    let message = |offset_ms, drift_ppm| {
        let set = async move { current_host().clock(offset_ms, drift_ppm) };
        Builder::new(1).run(set).unwrap_err().to_string()
    };
    for drift_ppm in [-MILLION, i32::MIN] {
        let message = message(0, drift_ppm);
        says(&message, "above -1,000,000");
    }
    for offset_ms in [-1_000_000_000_000, i64::MIN] {
        let message = message(offset_ms, 0);
        says(&message, "a time after 1970");
    }
}

#[test]
fn a_report_says_by_how_much_a_clock_is_ahead_or_behind() {
    let mut sides = BTreeSet::new();
    for seed in 0..20 {
        let run = Builder::new(seed).faults(Faults::none().clocks(1.0));
        let run = run.trace(true).run(async {
            let millis = || wall_passed().as_millis() as i64;
            sleep(100 * SECOND).await;
            on_host(&Host::new("a"), move || async move { millis() }).await - millis()
        });
        let run = run.unwrap();
        let (how, side) = match run.output {
            0 => ("to the true time".into(), ""),
            offset @ 1.. => (format!("{offset} ms ahead of the true time"), "ahead"),
            offset => (format!("{} ms behind the true time", -offset), "behind"),
        };
        sides.insert(side);
        let text = format!("the wall clock of `a` is set {how}, and its clocks ");
        says(run.trace.unwrap(), &text);
    }
    assert!(sides.is_superset(&["ahead", "behind"].into()), "{sides:?}");
}
