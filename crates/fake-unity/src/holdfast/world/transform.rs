//! Positions and rotations, as Unity computes them: a quaternion, made from angles about z, then x, then y.

use serde_json::{Value, json};

use super::node::{Component, Node, Property};

/// A vector of three numbers.
pub(crate) type Three = [f64; 3];
type Four = [f64; 4];

/// The place of an object, relative to its parent or in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pose {
    pub(crate) position: Three,
    pub(crate) rotation: Four,
    pub(crate) scale: Three,
}

/// The place of a parent that does nothing.
pub(crate) const NOWHERE: Pose = Pose { position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0], scale: [1.0; 3] };

fn numbers<const N: usize>(of: &[Property], name: &str, parts: [&str; N], otherwise: [f64; N]) -> [f64; N] {
    let value = of.iter().find(|one| one.name == name).map(|one| &one.value);
    let mut at = 0;
    parts.map(|part| {
        let number = value.and_then(|value| value.get(part)).and_then(Value::as_f64);
        at += 1;
        number.unwrap_or_else(|| otherwise.get(at - 1).copied().unwrap_or_default())
    })
}

/// Vectors as `inspect` shows them.
pub(crate) fn vector([x, y, z]: Three) -> Value {
    json!({"x": x, "y": y, "z": z})
}

fn times([ax, ay, az, aw]: Four, [bx, by, bz, bw]: Four) -> Four {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

fn inverse([x, y, z, w]: Four) -> Four {
    [-x, -y, -z, w]
}

fn turned(rotation: Four, [x, y, z]: Three) -> Three {
    let [x, y, z, _] = times(times(rotation, [x, y, z, 0.0]), inverse(rotation));
    [x, y, z]
}

fn each(a: Three, b: Three, both: impl Fn(f64, f64) -> f64) -> Three {
    let ([ax, ay, az], [bx, by, bz]) = (a, b);
    [both(ax, bx), both(ay, by), both(az, bz)]
}

/// The rotation of these angles in degrees.
pub(crate) fn rotation(degrees: Three) -> Four {
    let [x, y, z] = degrees.map(|angle| (angle.to_radians() / 2.0).sin_cos());
    let about = [[0.0, y.0, 0.0, y.1], [x.0, 0.0, 0.0, x.1], [0.0, 0.0, z.0, z.1]];
    about.into_iter().fold(NOWHERE.rotation, times)
}

/// The angles of a rotation in degrees, from 0 to 360.
fn degrees([x, y, z, w]: Four) -> Three {
    let sine = (2.0 * (w * x - y * z)).clamp(-1.0, 1.0);
    let angles = if sine.abs() > 0.999_999 {
        // It looks straight up or down, so two of the angles are about the same axis.
        [sine.signum() * std::f64::consts::FRAC_PI_2, 2.0 * y.atan2(w), 0.0]
    } else {
        [
            sine.asin(),
            (2.0 * (w * y + x * z)).atan2(1.0 - 2.0 * (x * x + y * y)),
            (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (x * x + z * z)),
        ]
    };
    angles.map(|angle| round(angle.to_degrees().rem_euclid(360.0)))
}

/// What the computation adds beyond a float's digits is left out.
fn round(value: f64) -> f64 {
    let rounded = (value * 1e5).round() / 1e5;
    if rounded == 360.0 { 0.0 } else { rounded + 0.0 }
}

impl Pose {
    /// The place of an object relative to its parent.
    pub(crate) fn of(node: &Node) -> Self {
        let own = node.transform();
        Self {
            position: numbers(own, "m_LocalPosition", ["x", "y", "z"], NOWHERE.position),
            rotation: numbers(own, "m_LocalRotation", ["x", "y", "z", "w"], NOWHERE.rotation),
            scale: numbers(own, "m_LocalScale", ["x", "y", "z"], NOWHERE.scale),
        }
    }

    /// The place in the world of what has the place `self` below `parent`.
    pub(crate) fn below(self, parent: Self) -> Self {
        let moved = turned(parent.rotation, each(self.position, parent.scale, |a, b| a * b));
        Self {
            position: each(parent.position, moved, |a, b| a + b),
            rotation: times(parent.rotation, self.rotation),
            scale: each(self.scale, parent.scale, |a, b| a * b),
        }
    }

    /// The place below `parent` of what has the place `self` in the world.
    pub(crate) fn seen_from(self, parent: Self) -> Self {
        let away = turned(inverse(parent.rotation), each(self.position, parent.position, |a, b| a - b));
        // Nothing has a place below a parent of no size; Unity then gives 0 as well.
        let by = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
        Self {
            position: each(away, parent.scale, by),
            rotation: times(inverse(parent.rotation), self.rotation),
            scale: each(self.scale, parent.scale, by),
        }
    }

    /// Writes the place into a Transform.
    pub(crate) fn write(self, transform: &mut Component) {
        let [x, y, z, w] = self.rotation.map(|part| (part * 1e7).round() / 1e7 + 0.0);
        transform.put("m_LocalRotation", "Quaternion", json!({"x": x, "y": y, "z": z, "w": w}));
        transform.put("m_LocalPosition", "Vector3", vector(self.position.map(round)));
        transform.put("m_LocalScale", "Vector3", vector(self.scale.map(round)));
        transform.put("m_LocalEulerAnglesHint", "Vector3", vector(degrees(self.rotation)));
    }
}

/// The place in the world of the innermost of these objects, each the parent of the next.
pub(crate) fn in_world<'a>(line: impl IntoIterator<Item = &'a Node>) -> Pose {
    line.into_iter().fold(NOWHERE, |parent, node| Pose::of(node).below(parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Three, b: Three) -> bool {
        each(a, b, |a, b| a - b).iter().all(|far| far.abs() < 1e-4)
    }

    #[test]
    fn angles_come_back_and_a_place_seen_from_its_parent_is_where_it_was() {
        for angles in [[0.0; 3], [10.0, 20.0, 30.0], [350.0, 90.0, 5.0], [0.0, 180.0, 0.0], [90.0, 40.0, 0.0]] {
            assert!(near(degrees(rotation(angles)), angles), "{angles:?} {:?}", degrees(rotation(angles)));
        }
        let parent = Pose { position: [1.0, 2.0, 3.0], rotation: rotation([10.0, 20.0, 30.0]), scale: [2.0; 3] };
        let own = Pose { position: [4.0, 5.0, 6.0], rotation: rotation([5.0, 6.0, 7.0]), scale: [1.0; 3] };
        assert!(near(own.below(parent).seen_from(parent).position, own.position));
        // A quarter turn about y turns forward (z) to the right (x), as in Unity.
        let turned = Pose { rotation: rotation([0.0, 90.0, 0.0]), ..NOWHERE };
        let ahead = Pose { position: [0.0, 0.0, 1.0], ..NOWHERE };
        assert!(near(ahead.below(turned).position, [1.0, 0.0, 0.0]));
    }
}
