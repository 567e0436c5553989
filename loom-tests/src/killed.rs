//! [`killed!`](crate::killed): a table of weakened orderings, as tests.

use std::sync::atomic::Ordering;

use joint_switch::model::sites_seen;

/// Makes a test of each row: with the site's ordering weakened, the model must fail
/// ([`assert_killed`](crate::assert_killed)).
///
/// A first line `in "a::b::", all after m();` says that the names of the sites are below this path.
/// It also makes the test `no_site_is_left_out`: each site below the path that the models in this
/// line reach asks for `Relaxed`, or is in the table. `all of "c::"` demands this only of the sites
/// below `a::b::c::`.
#[macro_export]
macro_rules! killed {
    (
        in $path:literal, all $(of $($part:literal),+)? after $($models:expr),+;
        $($name:ident: $site:literal to $weaker:ident by $model:expr;)*
    ) => {
        $crate::killed! {
            $($name: (concat!($path, $site)) to $weaker by $model;)*
        }

        #[test]
        fn no_site_is_left_out() {
            $($models;)+
            let parts: &[&str] = &[$($($part),+)?];
            $crate::assert_listed($path, parts, &[$($site),*]);
        }
    };
    ($($name:ident: $site:tt to $weaker:ident by $model:expr;)*) => {$(
        #[test]
        fn $name() {
            $crate::assert_killed($site, ::std::sync::atomic::Ordering::$weaker, || $model);
        }
    )*};
}

/// Demands that each site below the path that the models of this thread have reached asks for
/// `Relaxed`, or is in the list. Looks only at the parts of the path, if there are any.
///
/// # Panics
/// If a site is missing.
#[track_caller]
pub fn assert_listed(path: &str, parts: &[&str], killed: &[&str]) {
    for (site, asked) in sites_seen() {
        let Some(name) = site.strip_prefix(path) else {
            continue;
        };
        let is_ours = parts.is_empty() || parts.iter().any(|part| name.starts_with(part));
        // Fences for the compiler alone. A model does not reorder the operations of a thread.
        let is_for_handlers = site.contains("parker::handler_");
        let is_listed = asked == Ordering::Relaxed || killed.contains(&name) || is_for_handlers;
        assert!(is_listed || !is_ours, "no model kills `{site}`");
    }
}
