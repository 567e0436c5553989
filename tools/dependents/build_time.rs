//! The processor time that it takes to build `joint-executor`, beside tokio: what a program that
//! depends on one of them pays for it, from an empty folder.

use std::fs;

use super::{Outside, root, text};

/// The packages by turns: `joint-executor` and tokio with the same features, and then with those of
/// most programs: dumps, which tokio has only by a cfg, and tokio's macros, which bring a parser.
const BUILDS: [(&str, &str); 4] = [
    ("joint-executor", r#""io""#),
    (
        "tokio",
        r#""io-util", "net", "rt-multi-thread", "sync", "time""#,
    ),
    ("joint-executor with dumps", r#""dump", "io""#),
    (
        "tokio with macros",
        r#""io-util", "macros", "net", "rt-multi-thread", "sync", "time""#,
    ),
];

/// Prints the seconds of each build and the multiples of `joint-executor`'s, of which the second is
/// of the medians of all rounds.
pub(crate) fn run(rounds: usize) -> Result<(), String> {
    println!("| profile | build | seconds (user and system) | joint-executor's multiple of it |");
    println!("|---|---|---|---|");
    for (profile, options) in [("dev", &[][..]), ("release", &["--release"])] {
        let mut all = [const { Vec::new() }; BUILDS.len()];
        for _ in 0..rounds {
            for ((name, features), seconds) in BUILDS.iter().zip(&mut all) {
                seconds.push(build(name, features, options)?);
            }
        }
        let own = median(&mut all[0]);
        for ((name, _), seconds) in BUILDS.iter().zip(&mut all) {
            let seconds = median(seconds);
            println!(
                "| {profile} | {name} | {seconds:.1} | {:.2} |",
                own / seconds
            );
        }
    }
    Ok(())
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Builds a package that depends on this one alone, and returns the seconds.
fn build(name: &str, features: &str, options: &[&str]) -> Result<f64, String> {
    let package = name.split(' ').next().unwrap_or(name);
    let from = match package {
        "tokio" => String::from("version = \"1\""),
        own => format!("path = {:?}", root().join(own)),
    };
    let dependency =
        format!("{package} = {{ {from}, default-features = false, features = [{features}] }}");
    let folder = format!("build-{}", name.replace(' ', "-"));
    let manifest = format!(
        "[package]\nname = \"{folder}\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n"
    );
    let outside = Outside::write(&folder, &manifest, &[("src/lib.rs", "")])?;
    let target = format!("target-of-{folder}");
    // It may not be there.
    let _ = fs::remove_dir_all(outside.0.with_file_name(&target));
    let before = used_by_children()?;
    // As cargo builds what comes from a registry, and tokio in any case.
    let as_registry = [
        "build",
        "--quiet",
        "--config=build.incremental=false",
        "--config=build.rustflags=['--cap-lints=allow']",
    ];
    let built = outside.cargo(&target, &[&as_registry[..], options].concat())?;
    match built.status.success() {
        true => Ok(used_by_children()? - before),
        false => Err(format!("the build of {name}: {}", text(&built))),
    }
}

/// The seconds of processor time that the children of this process have used that have ended.
fn used_by_children() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat");
    let stat = stat.map_err(|_| "this command counts by means of Linux".to_owned())?;
    // The name, in brackets, may contain spaces. The times are the 16th and the 17th field, in
    // hundredths.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let times = fields.split_whitespace().skip(13).take(2);
    let times = times.map(|time| time.parse::<f64>().unwrap_or_default());
    Ok(times.sum::<f64>() / 100.0)
}
