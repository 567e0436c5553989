//! The ordering lab: `cargo xtask lab` runs it.

#[cfg(joint_loom)]
mod lab {
    use loom_tests::matrix;

    const USAGE: &str = "\
Usage: lab matrix
       lab cell result|waker COMPLETER WAITER [svg]

matrix  decides every pair of orderings for the completion's two exchanges by the model checker
cell    shows the execution in which one pair does not publish the result, or the waker
";

    /// Returns the status to exit with.
    pub(crate) fn run(words: &[String]) -> i32 {
        match words.split_first() {
            Some((first, [])) if first == "matrix" => match matrix::matrix() {
                Ok(matrix) => print!("{matrix}"),
                Err(error) => return refuse(&error.to_string()),
            },
            Some((first, rest)) if first == "cell" && matrix::cell(rest) => {}
            Some((first, _)) if ["help", "--help", "-h"].contains(&first.as_str()) => {
                print!("{USAGE}");
            }
            _ => return refuse("nothing to do (see `lab help`)"),
        }
        0
    }

    fn refuse(why: &str) -> i32 {
        eprintln!("error: {why}");
        2
    }
}

#[cfg(joint_loom)]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(lab::run(&words));
}

#[cfg(not(joint_loom))]
fn main() {
    eprintln!("error: built without the model checker; run `cargo xtask lab`");
    std::process::exit(2);
}
