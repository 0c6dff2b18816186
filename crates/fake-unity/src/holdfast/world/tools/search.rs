//! `unity-search` and `get-provider-details`.

use serde_json::{Value, json};

use super::told::{Told, at_least_zero};
use super::words::{Filter, Match};
use super::{assets, editor};
use crate::holdfast::world::node::{self, short};
use crate::holdfast::world::{Found, Stop, World, stem};
use crate::tools::Arguments;

/// The providers: their ids, names, filters and priorities.
const PROVIDERS: [(&str, &str, &str, i64); 3] =
    [("asset", "Project", "p:", 25), ("scene", "Hierarchy", "h:", 50), ("menu", "Menu", "m:", 80)];

pub(super) fn providers(given: &Arguments) -> Told {
    let id = given.word("ProviderId");
    let mut listed: Vec<_> = PROVIDERS.into_iter().filter(|one| id.is_empty() || one.0 == id).collect();
    let by_priority = given.flag("SortByPriority");
    listed.sort_by_key(|(id, _, _, priority)| (if by_priority { *priority } else { 0 }, *id));
    let described = given.flag("IncludeDescriptions");
    let one = |(id, name, filter, priority): &(&str, &str, &str, i64)| {
        let about = format!("{name}: takes part by itself; the query can begin with {filter} to ask it alone");
        json!({
            "Id": id, "DisplayName": name, "Description": if described { about } else { String::new() }, "IsActive": true,
            "Priority": priority, "FilterId": filter, "IsExplicit": false, "ShowDetails": true, "ShowDetailsOptions": "Default",
            "SupportedTypes": [], "ActionCount": 1,
        })
    };
    let missing = !id.is_empty() && listed.is_empty();
    let active = given.flag("ActiveOnly");
    let kind = if active { " active" } else { "" };
    let error = if missing { format!("There is no{kind} search provider '{id}'") } else { String::new() };
    let applied = match (id, active) {
        ("", true) => "active".to_owned(),
        ("", false) => "all".to_owned(),
        (id, _) => format!("id {id}"),
    };
    Ok(json!({
        "Providers": listed.iter().map(one).collect::<Vec<_>>(), "TotalCount": listed.len(), "ActiveCount": listed.len(),
        "InactiveCount": 0, "Success": !missing, "ErrorMessage": error, "AppliedFilter": applied, "SortedByPriority": by_priority,
    }))
}

/// A result, before the caller's filters.
struct Hit {
    id: String,
    label: String,
    about: String,
    provider: &'static str,
    kind: String,
    path: String,
    object: String,
}

fn hits(world: &World, query: &str, asks: impl Fn(&str) -> bool) -> Vec<Hit> {
    let mut found = Vec::new();
    if asks("asset") {
        for (path, kind) in assets::matching(world, query) {
            let label = stem(&path).to_owned();
            let (id, kind) = (format!("asset:{path}"), short(&kind).to_owned());
            found.push(Hit { id, label, about: path.clone(), provider: "asset", kind, path, object: String::new() });
        }
    }
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let fits = |name: &str| {
        let name = name.to_lowercase();
        words.iter().all(|word| name.contains(word.as_str()))
    };
    if asks("scene") {
        for spot in node::walk(world.roots()).into_iter().filter(|spot| fits(&spot.node.name)) {
            let object = Found::Object(spot.node.id);
            found.push(Hit {
                id: world.global_id(&object).unwrap_or_else(|| format!("scene:{}", spot.node.id)),
                label: spot.node.name.clone(),
                about: spot.path,
                provider: "scene",
                kind: "GameObject".to_owned(),
                path: String::new(),
                object: spot.node.id.to_string(),
            });
        }
    }
    if asks("menu") {
        for path in editor::MENU.into_iter().filter(|path| fits(path)) {
            let text = |text: &str| text.to_owned();
            let label = text(path.rsplit('/').next().unwrap_or(path));
            found.push(Hit {
                id: text(path),
                label,
                about: text(path),
                provider: "menu",
                kind: String::new(),
                path: String::new(),
                object: String::new(),
            });
        }
    }
    found
}

pub(super) fn search(world: &World, given: &Arguments) -> Told {
    let query = given.word("SearchQuery").trim();
    if query.is_empty() {
        return Stop::wrong("SearchQuery is empty");
    }
    let most = at_least_zero(given, "MaxResults")?;
    let texts = |name: &str| given.items(name).iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
    let asked = texts("Providers");
    if let Some(unknown) = asked.iter().find(|id| PROVIDERS.iter().all(|one| one.0 != id.as_str())) {
        return Stop::wrong(format!("There is no search provider '{unknown}' (Providers)"));
    }
    // A query may name the one that it is for.
    let named = PROVIDERS.iter().find_map(|(id, _, filter, _)| Some((*id, query.strip_prefix(filter)?.trim())));
    let plain = named.map_or(query, |(_, rest)| rest);
    let asks =
        |id: &str| named.is_none_or(|(one, _)| one == id) && (asked.is_empty() || asked.iter().any(|one| one == id));
    let (endings, kinds) = (texts("FileExtensions"), texts("AssetTypes"));
    let path_text = given.word("PathFilter");
    let pieces: Vec<&str> = path_text.split('*').collect();
    let path = Filter::new(
        "PathFilter",
        &pieces.join(".*"),
        if pieces.len() > 1 { Match::Regex } else { Match::Contains },
        true,
    )?;
    let fits = |hit: &Hit| {
        let ending = hit.path.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
        (endings.is_empty()
            || endings.iter().any(|one| one.trim_start_matches(['*', '.']).eq_ignore_ascii_case(ending)))
            && (kinds.is_empty() || kinds.iter().any(|one| one.eq_ignore_ascii_case(&hit.kind)))
            && (path_text.is_empty() || path.fits(&hit.path))
    };
    let all = hits(world, plain, asks);
    let total = all.len();
    let kept: Vec<Hit> = all.into_iter().filter(fits).collect();
    let filtered = total - kept.len();
    let with_about = given.flag("IncludeDescription");
    let mut used = asked.clone();
    used.extend(kept.iter().map(|hit| hit.provider.to_owned()).filter(|id| !asked.contains(id)));
    used.dedup();
    let results: Vec<Value> = kept.iter().take(most).map(|hit| {
        let size = if given.flag("IncludeMetadata") { world.files.read(&hit.path).map_or(0, |bytes| bytes.len()) } else { 0 };
        json!({
            "Id": hit.id, "Label": hit.label, "Description": if with_about { hit.about.as_str() } else { "" }, "Provider": hit.provider,
            "Type": hit.kind, "Path": hit.path, "ObjectId": hit.object, "Thumbnail": "", "Score": 0.0, "Tags": [],
            "IsSelectable": hit.provider != "menu", "FileSize": size, "LastModified": "",
        })
    }).collect();
    // The real package writes many results to a file. The simulated editor has no place for results.
    if given.flag("SaveToFile") {
        return Stop::wrong("The simulated editor writes no files of results (SaveToFile)");
    }
    Ok(json!({
        "Results": results, "TotalCount": kept.len(), "DisplayedCount": results.len(), "SearchQuery": given.word("SearchQuery"),
        "ProvidersUsed": used, "SearchDurationMs": 0, "Success": true, "ErrorMessage": "", "ResultsFilePath": "",
        "ResultsSavedToFile": false, "SavedFileFormat": "", "SaveToFileReason": "",
        "AppliedFilters": {"FileExtensions": endings, "AssetTypes": kinds, "PathFilter": path_text, "FilteredOutCount": filtered},
    }))
}
