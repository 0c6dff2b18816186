//! What is sent of a texture: pixels, and how it is imported.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::super::members::Members;
use super::sent::{Sent, Why};
use super::{shapes, values};
use crate::protocol::text::{cut_with_ellipsis, quote};

/// Before base64 that stands for pixels.
const BASE64: &str = "base64:";
/// Bytes of a name or value that a refusal shows.
const SHOWN_MAX_BYTES: usize = 64;

/// How a setting of the importer is translated.
enum Setting {
    Given,
    Flag,
    Integer,
    Number,
    /// The package's values, and those of Unity.
    One(&'static [(&'static str, &'static str)]),
}

const WRAP: Setting =
    Setting::One(&[("repeat", "Repeat"), ("clamp", "Clamp"), ("mirror", "Mirror"), ("mirror_once", "MirrorOnce")]);

/// The settings of the importer: the package's name, that of Unity, and how the value is translated.
const SETTINGS: [(&str, &str, Setting); 22] = [
    (
        "texture_type",
        "textureType",
        Setting::One(&[
            ("default", "Default"),
            ("normal_map", "NormalMap"),
            ("editor_gui", "GUI"),
            ("sprite", "Sprite"),
            ("cursor", "Cursor"),
            ("cookie", "Cookie"),
            ("lightmap", "Lightmap"),
            ("directional_lightmap", "DirectionalLightmap"),
            ("shadow_mask", "Shadowmask"),
            ("single_channel", "SingleChannel"),
        ]),
    ),
    ("texture_shape", "textureShape", Setting::One(&[("2d", "Texture2D"), ("cube", "TextureCube")])),
    ("srgb", "sRGBTexture", Setting::Flag),
    ("alpha_is_transparency", "alphaIsTransparency", Setting::Flag),
    ("readable", "isReadable", Setting::Flag),
    ("generate_mipmaps", "mipmapEnabled", Setting::Flag),
    ("compression_crunched", "crunchedCompression", Setting::Flag),
    (
        "alpha_source",
        "alphaSource",
        Setting::One(&[("none", "None"), ("from_input", "FromInput"), ("from_gray_scale", "FromGrayScale")]),
    ),
    ("wrap_mode", "wrapMode", WRAP),
    ("wrap_mode_u", "wrapModeU", WRAP),
    ("wrap_mode_v", "wrapModeV", WRAP),
    (
        "filter_mode",
        "filterMode",
        Setting::One(&[("point", "Point"), ("bilinear", "Bilinear"), ("trilinear", "Trilinear")]),
    ),
    ("mipmap_filter", "mipmapFilter", Setting::One(&[("box", "BoxFilter"), ("kaiser", "KaiserFilter")])),
    (
        "compression",
        "textureCompression",
        Setting::One(&[
            ("none", "Uncompressed"),
            ("low_quality", "CompressedLQ"),
            ("normal_quality", "Compressed"),
            ("high_quality", "CompressedHQ"),
        ]),
    ),
    ("aniso_level", "anisoLevel", Setting::Integer),
    ("max_texture_size", "maxTextureSize", Setting::Integer),
    ("compression_quality", "compressionQuality", Setting::Integer),
    (
        "sprite_mode",
        "spriteImportMode",
        Setting::One(&[("single", "Single"), ("multiple", "Multiple"), ("polygon", "Polygon")]),
    ),
    ("sprite_pixels_per_unit", "spritePixelsPerUnit", Setting::Number),
    ("sprite_pivot", "spritePivot", Setting::Given),
    ("sprite_mesh_type", "spriteMeshType", Setting::One(&[("full_rect", "FullRect"), ("tight", "Tight")])),
    ("sprite_extrude", "spriteExtrude", Setting::Integer),
];

pub(super) fn import_settings(raw: &RawValue) -> Result<Option<String>, Why> {
    let Some(json) = values::object(raw)? else { return Ok(None) };
    let json = read(json)?;
    let members = Members::of(&json).ok_or_else(|| "must be an object".to_owned())?;
    let mut sent = Sent::default();
    for (name, value) in members.unique().into_iter().filter(|(_, value)| value.get() != "null") {
        let known = SETTINGS.iter().find(|(known, ..)| *known == name);
        let (_, wire, setting) = known.ok_or_else(|| format!("has no setting {}", shown(name)))?;
        let value = match setting {
            Setting::Given => Ok(Some(value.get().to_owned())),
            Setting::Flag => values::flag(value).map(|flag| flag.map(|flag| flag.to_string())),
            Setting::Integer => values::integer(value),
            Setting::Number => values::number(value),
            Setting::One(of) => one(value, of).map(Some),
        };
        let value = value.map_err(|why| format!("has a {name} that {why}"))?;
        sent.0.extend(value.map(|value| ((*wire).to_owned(), value)));
    }
    Ok(Some(sent.json()))
}

fn one(value: &RawValue, of: &[(&str, &str)]) -> Result<String, Why> {
    let word = values::text(value).unwrap_or_default();
    let known =
        of.iter().find(|(ours, theirs)| [ours, theirs].iter().any(|known| known.eq_ignore_ascii_case(word.trim())));
    let Some((_, unity)) = known else {
        let of: Vec<&str> = of.iter().map(|(ours, _)| *ours).collect();
        return Err(format!("must be one of {}", of.join(", ")));
    };
    Ok(Value::from(*unity).to_string())
}

fn shown(text: &str) -> String {
    quote(&cut_with_ellipsis(text, SHOWN_MAX_BYTES))
}

fn read(json: String) -> Result<Box<RawValue>, Why> {
    RawValue::from_string(json).map_err(|_| "is no JSON".to_owned())
}

/// Returns the settings of a sprite. True stands for the usual ones.
pub(super) fn sprite(raw: &RawValue) -> Result<Option<String>, Why> {
    if let Ok(flag) = values::flag(raw) {
        return Ok(flag.filter(|flag| *flag).map(|_| r#"{"pivot":[0.5,0.5],"pixelsPerUnit":100}"#.to_owned()));
    }
    let Some(json) = values::object(raw)? else { return Ok(None) };
    let json = read(json)?;
    let members = Members::of(&json).ok_or_else(|| "must be an object".to_owned())?;
    let wire = |name: &str| if name == "pixels_per_unit" { "pixelsPerUnit".to_owned() } else { name.to_owned() };
    Ok(Some(
        Sent(members.unique().into_iter().map(|(name, value)| (wire(name), value.get().to_owned())).collect()).json(),
    ))
}

/// Returns a list of colours, from a list or from JSON in a text.
pub(super) fn palette(raw: &RawValue) -> Result<Option<String>, Why> {
    let Some(json) = values::list(raw)? else { return Ok(None) };
    let items: Vec<&RawValue> = serde_json::from_str(&json).map_err(|_| "must be a list of colours".to_owned())?;
    let colors: Result<Vec<String>, Why> = items.into_iter().map(shapes::color_bytes).collect();
    Ok(Some(format!("[{}]", colors.map_err(|why| format!("has a colour that {why}"))?.join(","))))
}

/// Returns the colours of pixels, or base64 marked as such.
pub(super) fn pixels(raw: &RawValue) -> Result<String, Why> {
    let text = values::text(raw);
    let base64 = text.filter(|text| !text.trim_start().starts_with('['));
    match base64 {
        Some(text) if text.starts_with(BASE64) => Ok(raw.get().to_owned()),
        Some(text) => Ok(Value::from(format!("{BASE64}{text}")).to_string()),
        None => palette(raw)?.ok_or_else(|| "must be a list of colours".to_owned()),
    }
}

/// Returns a part of a texture with its new colour or pixels.
pub(super) fn region(raw: &RawValue) -> Result<Option<String>, Why> {
    let Some(json) = values::object(raw)? else { return Ok(None) };
    let json = read(json)?;
    let members = Members::of(&json).ok_or_else(|| "must be an object".to_owned())?;
    let mut sent = Sent::default();
    for (name, value) in members.unique() {
        let value = match name {
            "color" => shapes::color_bytes(value).map_err(|why| format!("has a color that {why}"))?,
            "pixels" => pixels(value).map_err(|why| format!("has pixels that {why}"))?,
            _ => value.get().to_owned(),
        };
        sent.push(name, &value);
    }
    Ok(Some(sent.json()))
}
