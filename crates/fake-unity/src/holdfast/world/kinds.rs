//! The types of components and assets that the simulated editor has without any script.

use serde_json::{Value, json};

use super::node::{Component, Node, Property, short};

/// A type: its full name, its base types without namespaces, and its properties as `name kind default`.
struct Kind {
    name: &'static str,
    bases: &'static [&'static str],
    switch: bool,
    properties: &'static [(&'static str, &'static str, &'static str)],
}

const COLLIDER: &[&str] = &["Collider"];
const RENDERER: &[&str] = &["Renderer"];
const BEHAVIOUR: &[&str] = &["Behaviour"];
const TRIGGER: (&str, &str, &str) = ("m_IsTrigger", "bool", "false");
const CENTER: (&str, &str, &str) = ("m_Center", "Vector3", r#"{"x":0.0,"y":0.0,"z":0.0}"#);
const ZERO: &str = r#"{"x":0.0,"y":0.0,"z":0.0}"#;
const ONE: &str = r#"{"x":1.0,"y":1.0,"z":1.0}"#;
const WHITE: &str = r#"{"r":1.0,"g":1.0,"b":1.0,"a":1.0}"#;
const MATERIAL: (&str, &str, &str) = ("m_Material", "PPtr<$Material>", "null");

const fn kind(
    name: &'static str,
    bases: &'static [&'static str],
    switch: bool,
    properties: &'static [(&'static str, &'static str, &'static str)],
) -> Kind {
    Kind { name, bases, switch, properties }
}

/// The commonest types of Unity. A project has some hundred more; the model has none of them.
static KINDS: [Kind; 20] = [
    kind(
        "UnityEngine.Transform",
        &[],
        false,
        &[
            ("m_LocalRotation", "Quaternion", r#"{"x":0.0,"y":0.0,"z":0.0,"w":1.0}"#),
            ("m_LocalPosition", "Vector3", ZERO),
            ("m_LocalScale", "Vector3", ONE),
            ("m_LocalEulerAnglesHint", "Vector3", ZERO),
        ],
    ),
    kind(
        "UnityEngine.Camera",
        BEHAVIOUR,
        true,
        &[
            ("m_BackGroundColor", "Color", r#"{"r":0.19,"g":0.3,"b":0.47,"a":0.0}"#),
            ("near clip plane", "float", "0.3"),
            ("far clip plane", "float", "1000.0"),
            ("field of view", "float", "60.0"),
            ("orthographic", "bool", "false"),
            ("orthographic size", "float", "5.0"),
            ("m_Depth", "float", "-1.0"),
        ],
    ),
    kind(
        "UnityEngine.Light",
        BEHAVIOUR,
        true,
        &[
            ("m_Type", "Enum:Spot,Directional,Point,Rectangle", "\"Point\""),
            ("m_Color", "Color", WHITE),
            ("m_Intensity", "float", "1.0"),
            ("m_Range", "float", "10.0"),
        ],
    ),
    kind("UnityEngine.AudioListener", BEHAVIOUR, true, &[]),
    kind(
        "UnityEngine.AudioSource",
        BEHAVIOUR,
        true,
        &[
            ("m_audioClip", "PPtr<$AudioClip>", "null"),
            ("m_PlayOnAwake", "bool", "true"),
            ("m_Volume", "float", "1.0"),
            ("Loop", "bool", "false"),
        ],
    ),
    kind("UnityEngine.Animator", BEHAVIOUR, true, &[("m_Controller", "PPtr<$RuntimeAnimatorController>", "null")]),
    kind("UnityEngine.MeshFilter", &[], false, &[("m_Mesh", "PPtr<$Mesh>", "null")]),
    kind("UnityEngine.MeshRenderer", RENDERER, true, &[("m_CastShadows", "bool", "true"), MATERIAL]),
    kind(
        "UnityEngine.SpriteRenderer",
        RENDERER,
        true,
        &[("m_Sprite", "PPtr<$Sprite>", "null"), ("m_Color", "Color", WHITE)],
    ),
    kind("UnityEngine.LineRenderer", RENDERER, true, &[MATERIAL, ("m_Loop", "bool", "false")]),
    kind("UnityEngine.BoxCollider", COLLIDER, true, &[TRIGGER, CENTER, ("m_Size", "Vector3", ONE)]),
    kind("UnityEngine.SphereCollider", COLLIDER, true, &[TRIGGER, CENTER, ("m_Radius", "float", "0.5")]),
    kind(
        "UnityEngine.CapsuleCollider",
        COLLIDER,
        true,
        &[TRIGGER, CENTER, ("m_Radius", "float", "0.5"), ("m_Height", "float", "2.0")],
    ),
    kind(
        "UnityEngine.MeshCollider",
        COLLIDER,
        true,
        &[("m_Mesh", "PPtr<$Mesh>", "null"), ("m_Convex", "bool", "false")],
    ),
    kind(
        "UnityEngine.CharacterController",
        COLLIDER,
        true,
        &[("m_Height", "float", "2.0"), ("m_Radius", "float", "0.5")],
    ),
    kind(
        "UnityEngine.Rigidbody",
        &[],
        false,
        &[
            ("m_Mass", "float", "1.0"),
            ("m_LinearDamping", "float", "0.0"),
            ("m_AngularDamping", "float", "0.05"),
            ("m_UseGravity", "bool", "true"),
            ("m_IsKinematic", "bool", "false"),
        ],
    ),
    kind("UnityEngine.Rigidbody2D", &[], false, &[("m_Mass", "float", "1.0"), ("m_GravityScale", "float", "1.0")]),
    kind("UnityEngine.BoxCollider2D", &["Collider2D", "Behaviour"], true, &[("m_IsTrigger", "bool", "false")]),
    kind("UnityEngine.ParticleSystem", &[], false, &[("looping", "bool", "true")]),
    kind(
        "UnityEngine.Canvas",
        BEHAVIOUR,
        true,
        &[("m_RenderMode", "Enum:ScreenSpaceOverlay,ScreenSpaceCamera,WorldSpace", "\"ScreenSpaceOverlay\"")],
    ),
];

/// Full names of the types with this name, which may have its namespace.
pub(crate) fn named(name: &str) -> Vec<String> {
    KINDS.iter().map(|one| one.name).filter(|full| *full == name || short(full) == name).map(str::to_owned).collect()
}

/// Whether a type with this full name is, or derives from, the type with this name. Classes of scripts derive from
/// `MonoBehaviour`, and are told apart from Unity's types by not being among them.
pub(crate) fn is_a(full: &str, name: &str) -> bool {
    let own = full == name || short(full) == short(name) && (!name.contains('.') || name.starts_with("UnityEngine."));
    let bare = short(name);
    own || bare == "Component"
        || match KINDS.iter().find(|one| one.name == full) {
            Some(kind) => kind.bases.contains(&bare),
            None => ["MonoBehaviour", "Behaviour"].contains(&bare),
        }
}

impl Node {
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.components.iter().any(|one| is_a(&one.kind, kind))
    }
}

/// A new component of one of these types; `None` if it is no such type.
pub(crate) fn component(full: &str) -> Option<Component> {
    let kind = KINDS.iter().find(|one| one.name == full)?;
    let property = |(name, kind, default): &(&str, &str, &str)| Property {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
        value: serde_json::from_str(default).unwrap_or_default(),
    };
    Some(Component {
        kind: full.to_owned(),
        enabled: kind.switch.then_some(true),
        properties: kind.properties.iter().map(property).collect(),
    })
}

/// Whether an object has at most one component of this type.
pub(crate) fn is_single(full: &str) -> bool {
    [
        "Transform",
        "Camera",
        "Light",
        "AudioListener",
        "Animator",
        "MeshFilter",
        "Rigidbody",
        "Rigidbody2D",
        "ParticleSystem",
        "Canvas",
    ]
    .contains(&short(full))
        || short(full).ends_with("Renderer")
}

/// A new material.
pub(crate) fn material(shader: &str) -> Component {
    let properties = [
        ("m_Shader", "PPtr<$Shader>", json!(shader)),
        ("_Color", "Color", json!({"r": 1.0, "g": 1.0, "b": 1.0, "a": 1.0})),
        ("_Glossiness", "float", json!(0.5)),
        ("_Metallic", "float", json!(0.0)),
        ("_MainTex", "PPtr<$Texture2D>", Value::Null),
    ];
    Component {
        kind: "UnityEngine.Material".to_owned(),
        enabled: None,
        properties: properties
            .map(|(name, kind, value)| Property { name: name.to_owned(), kind: kind.to_owned(), value })
            .into(),
    }
}

/// Shaders of which a material can be made.
pub(crate) const SHADERS: [&str; 4] = ["Standard", "Unlit/Color", "Unlit/Texture", "Sprites/Default"];
