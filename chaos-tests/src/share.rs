//! What a run does for each package: everything, or, while `HOLDFAST_SHARED` is set (`make test`), its turns. Then seeds and kills
//! are numbered through, and the first package has the first of them, the second the next, and so on.

pub use holdfast_fake_unity::PACKAGES;
use holdfast_fake_unity::Package;

/// Whether seeds and kills are shared out over the packages.
pub fn shared() -> bool {
    std::env::var_os("HOLDFAST_SHARED").is_some()
}

/// The numbers from `from` on that are this package's: `alone` of them if it has all to itself, else its turns of `together`.
pub fn turns(package: &Package, from: u64, alone: u64, together: u64) -> Vec<u64> {
    let turn = PACKAGES.iter().position(|one| *one == package).expect("every package has its turn");
    if shared() { turns_of(turn as u64, PACKAGES.len() as u64, from, together) } else { (from..from + alone).collect() }
}

fn turns_of(turn: u64, packages: u64, from: u64, together: u64) -> Vec<u64> {
    // Every five cycles another package begins: faults come in cycles too, and each package is to meet all of them.
    let begins = |nth: &u64| nth / packages / 5;
    let is_its = |nth: &u64| (nth + begins(nth)) % packages == turn;
    (0..together).filter(is_its).map(|nth| from + nth).collect()
}

/// `alone`, or a package's share of `together`.
pub fn share(alone: u64, together: u64) -> u64 {
    if shared() { together.div_ceil(PACKAGES.len() as u64) } else { alone }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_packages_turn_and_no_package_has_more_than_its_share() {
        for packages in 1..=25 {
            let shares: Vec<Vec<u64>> = (0..packages).map(|turn| turns_of(turn, packages, 7, 1001)).collect();
            let mut all = shares.concat();
            all.sort_unstable();
            assert_eq!(all, (7..1008).collect::<Vec<u64>>());
            let even = 1001 / packages as usize;
            assert!(shares.iter().all(|share| [even, even + 1].contains(&share.len())));
            for share in shares {
                let of_ten: std::collections::BTreeSet<u64> = share.iter().map(|number| (number - 7) % 10).collect();
                assert_eq!(
                    of_ten.len(),
                    10,
                    "each of {packages} packages meets each of ten faults that come in a cycle"
                );
            }
        }
    }
}
