//! The ordering lab: `cargo xtask lab` runs it.

#[cfg(joint_loom)]
mod lab {
    use std::{fs, path::PathBuf};

    use loom_tests::matrix::{self, Matrix};

    const USAGE: &str = "\
Usage: lab matrix [--json FILE] [--html FILE]

  matrix       every pair of orderings for the completion's two exchanges, each decided by the model checker
  --json FILE  the same for programs
  --html FILE  the same as a page, with a counterexample for each pair that fails
";

    /// Returns the status to exit with.
    pub(crate) fn run(words: &[String]) -> i32 {
        let done = match words.split_first() {
            Some((first, rest)) if first == "matrix" => matrix(rest),
            // How the matrix runs each of its models.
            Some((first, rest)) if first == "cell" && matrix::answer(rest) => Ok(()),
            Some((first, _)) if ["help", "--help", "-h"].contains(&first.as_str()) => {
                print!("{USAGE}");
                Ok(())
            }
            _ => Err("nothing to do (see `lab help`)".to_owned()),
        };
        match done {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("error: {error}");
                2
            }
        }
    }

    fn matrix(words: &[String]) -> Result<(), String> {
        if words.iter().any(|word| word == "--help" || word == "-h") {
            print!("{USAGE}");
            return Ok(());
        }
        let files = files(words)?;
        let matrix = Matrix::run().map_err(|error| error.to_string())?;
        print!("{}", matrix.text());
        for (option, path) in files {
            let text = if option == "--json" {
                matrix.json()
            } else {
                matrix.html()
            };
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            println!("written: {}", path.display());
        }
        Ok(())
    }

    fn files(words: &[String]) -> Result<Vec<(&str, PathBuf)>, String> {
        let pairs = words.chunks(2).map(|pair| match pair {
            [option, path] if option == "--json" || option == "--html" => {
                Ok((option.as_str(), PathBuf::from(path)))
            }
            [option] if option == "--json" || option == "--html" => {
                Err(format!("{option} needs a file"))
            }
            [option, ..] => Err(format!("lab matrix has no option {option}")),
            [] => Err("no option".to_owned()),
        });
        pairs.collect()
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
