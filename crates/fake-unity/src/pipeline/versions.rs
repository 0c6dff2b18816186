//! The versions in which the package changed.

use crate::package_version::PackageVersion;

pub(super) const V0_4: PackageVersion = PackageVersion::new(0, 4, 0);
pub(super) const V0_5: PackageVersion = PackageVersion::new(0, 5, 0);
pub(super) const V0_6: PackageVersion = PackageVersion::new(0, 6, 0);
pub(super) const V0_7: PackageVersion = PackageVersion::new(0, 7, 0);
pub(super) const V0_8: PackageVersion = PackageVersion::new(0, 8, 0);
