//! Pictures: the sky, the ground, and a square for each object that is drawn, seen from the front. No camera looks anywhere else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::World;
use super::node;
use super::transform;

/// Grey values: one byte for a pixel keeps the largest picture at four megabytes before it is packed.
const SKY: u8 = 200;
const GROUND: u8 = 120;
/// Pixels of one unit of the world, as parts of the picture's height.
const UNIT: f64 = 0.06;

impl World {
    /// Returns a PNG image in base64.
    pub(super) fn picture(&self, width: usize, height: usize) -> String {
        let horizon = height / 2;
        let mut pixels = vec![SKY; width * height];
        pixels.iter_mut().skip(horizon * width).for_each(|pixel| *pixel = GROUND);
        let drawn = node::walk(self.roots()).into_iter().filter(|spot| spot.active && spot.node.has("Renderer"));
        for (number, spot) in drawn.enumerate() {
            let place = transform::in_world(spot.parents.iter().copied().chain([spot.node]));
            let unit = height as f64 * UNIT;
            let [x, y, _] = place.position;
            let [wide, high, _] = place.scale;
            // A cast saturates, so an object far away is at the edge.
            let span = |middle: f64, size: f64, most: usize| {
                let half = size.abs() * unit / 2.0;
                ((middle - half).max(0.0) as usize).min(most)..((middle + half).max(0.0) as usize).min(most)
            };
            let columns = span(width as f64 / 2.0 + x * unit, wide, width);
            // Each has a grey of its own, so that it can be told from its neighbours.
            let grey = u8::try_from(20 + number * 37 % 90).unwrap_or(20);
            for row in span(horizon as f64 - y * unit, high, height) {
                if let Some(line) = pixels.get_mut(row * width + columns.start..row * width + columns.end) {
                    line.fill(grey);
                }
            }
        }
        STANDARD.encode(png(width, height, &pixels))
    }
}

/// Encodes a grey picture.
fn png(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let size = |side: usize| u32::try_from(side).unwrap_or(0).to_be_bytes();
    // Each row begins with its filter: none.
    let rows: Vec<u8> =
        pixels.chunks(width.max(1)).flat_map(|row| [0].into_iter().chain(row.iter().copied())).collect();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    // Eight bits of grey; the usual packing, filter and order.
    chunk(&mut file, b"IHDR", &[&size(width)[..], &size(height), &[8, 0, 0, 0, 0]].concat());
    chunk(&mut file, b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&rows, 6));
    chunk(&mut file, b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend(u32::try_from(data.len()).unwrap_or(0).to_be_bytes());
    let covered = [&kind[..], data].concat();
    file.extend(&covered);
    file.extend(crc(&covered).to_be_bytes());
}

/// The checksum of a chunk (ISO 3309, as in the PNG specification's annex D).
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_png_with_the_checksums_and_the_rows_that_it_says() {
        // The checksum of the empty end chunk is the same in every PNG.
        assert_eq!(crc(b"IEND"), 0xae42_6082);
        let file = png(3, 2, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(file.get(..8), Some(&b"\x89PNG\r\n\x1a\n"[..]));
        assert_eq!(file.get(16..24), Some(&[0, 0, 0, 3, 0, 0, 0, 2][..]));
        let at = file.windows(4).position(|four| four == b"IDAT").unwrap() + 4;
        let length = u32::from_be_bytes(file[at - 8..at - 4].try_into().unwrap()) as usize;
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(&file[at..at + length]).unwrap();
        assert_eq!(rows, [0, 1, 2, 3, 0, 4, 5, 6]);
    }
}
