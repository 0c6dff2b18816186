//! How `tools.json` says that arguments are translated.

use serde::Deserialize;

/// How the value of a parameter is translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// It is not.
    Given,
    /// It is for the package's server alone and is not sent.
    Local,
    /// True or false, also as a word or a number.
    Flag,
    /// The same, sent only if it is true.
    SetFlag,
    /// The same, sent as a word.
    FlagWord,
    /// A whole number, also as a text.
    Integer,
    /// A number, also as a text.
    Number,
    /// One of the parameter's values, in any case.
    Word,
    /// An object, also as JSON in a text.
    Object,
    /// A list, also as JSON in a text.
    List,
    /// Anything; a text that is JSON stands for what it says.
    Json,
    /// A list of texts, also as JSON in a text, or one text.
    Texts,
    /// The same, in lower case.
    Words,
    /// The same, also as a text with commas.
    Commas,
    /// A number of entries; `all` is sent as null.
    Count,
    /// Three numbers: a list, `{x,y,z}`, or a text with commas.
    Vector,
    /// A colour of four numbers from 0 to 1.
    Color,
    /// A colour of four numbers from 0 to 255.
    ColorBytes,
    /// A list of such colours.
    Palette,
    /// A list of such colours, or base64.
    Pixels,
    /// An object with such a colour and such pixels.
    Region,
    /// Settings of a sprite, or true.
    Sprite,
    /// Settings of a texture's importer, under the package's names for them.
    ImportSettings,
    /// Components to add: names or objects.
    Components,
    /// Objects to add, with vectors in them.
    Children,
    /// Commands of a batch.
    Commands,
    /// Text that is sent in base64 if a file is written.
    Encoded,
    /// A script, sent as its name and its folder.
    Uri,
    /// The same, below Assets.
    AssetUri,
    /// The same, for a script that does not exist yet.
    ScriptPath,
    /// The name of a script, whose folder is the argument `path`; either may hold the whole path.
    ScriptName,
    /// A file of the user interface below Assets.
    UiPath,
    /// Spans of a text with what replaces them.
    TextEdits,
    /// Changes of classes, methods and anchors.
    ScriptEdits,
}

/// What is done to a whole call after each of its arguments was translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// A search's path that is a query becomes its pattern, and its type of asset a filter.
    AssetSearch,
    /// Several edits are applied together or not at all.
    Atomic,
    /// Forgetting a stuck run takes nothing else.
    ClearStuck,
    /// The editor refreshes at once after the edits.
    Immediate,
    /// The folder of a new prefab becomes its path.
    PrefabPath,
    /// A prefab is made of the object that is named.
    PrefabTarget,
    /// A texture of a picture has the picture's size; a new one of nothing is white.
    Texture,
}
