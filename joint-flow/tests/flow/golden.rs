//! The example `flow_guide` says the same on any number of workers, and in a simulation.

#[allow(dead_code, unreachable_pub, reason = "it is a program of its own")]
#[path = "../../examples/flow_guide.rs"]
mod flow_guide;

const LINES: &str = include_str!("flow_guide.txt");

fn assert_lines(lines: &[String]) {
    assert_eq!(lines.join("\n") + "\n", LINES);
}

#[test]
fn flow_guide_on_workers() {
    for workers in [1, 2, 4] {
        let executor = joint_executor::Executor::builder()
            .workers(workers)
            .build()
            .unwrap();
        let walk = executor.spawn(flow_guide::walk());
        assert_lines(&joint::block_on(walk));
    }
}

#[test]
fn flow_guide_in_a_simulation() {
    joint_sim::check(|| async { assert_lines(&flow_guide::walk().await) });
}
