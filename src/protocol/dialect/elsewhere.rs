//! The names that tools of the same role have in other packages.

use super::ALL;

/// Returns the names that a tool with these names has in other packages, where tools with the same role have them.
/// `unity/Core/Tools/OtherNames.cs` has the names under which our own package's tools can be called too; a test
/// compares the two lists. The remaining names only bind a tool to rules.
pub fn names_elsewhere(names: &[&str]) -> Vec<&'static str> {
    let roles = || ALL.iter().map(|dialect| dialect.properties().roles.all());
    let mut elsewhere = Vec::new();
    for (own, nth) in roles().flat_map(|own| (0..own.len()).map(move |nth| (own, nth))) {
        if !own[nth].iter().any(|name| names.contains(name)) {
            continue;
        }
        for name in roles().filter(|other| *other != own).flat_map(|other| other[nth].iter().copied()) {
            if !own[nth].contains(&name) && !elsewhere.contains(&name) {
                elsewhere.push(name);
            }
        }
    }
    elsewhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_the_names_of_every_other_package_and_none_of_its_own_ones() {
        let names = |name: &str| names_elsewhere(&[name]);
        assert_eq!(names("execute_menu_item"), ["execute-menu-item", "menu"]);
        let code = ["execute-csharp", "execute_code", "query", "eval", "eval_file", "run_script"];
        assert_eq!(names("execute-dynamic-code"), code);
        let code = ["execute-csharp", "eval", "eval_file", "run_script", "execute-dynamic-code", "query"];
        assert_eq!(names("execute_code"), code);
        let play = ["play-mode", "editor_play", "editor_stop", "editor_pause", "manage_editor", "control-play-mode"];
        assert_eq!(names("stop_game"), play);
        assert_eq!(names("compile"), ["recompile"]);
    }

    #[test]
    fn every_name_that_our_unity_package_takes_is_known_here() {
        let source = include_str!("../../../unity/Core/Tools/OtherNames.cs");
        let (mut tool, mut seen) = ("", 0);
        for line in source.lines() {
            let quoted =
                |line: &'static str, after: &str| line.split_once(after)?.1.split_once('"').map(|(name, _)| name);
            if let Some(name) = quoted(line, "[\"").filter(|_| line.trim_start().starts_with('[')) {
                tool = name;
            }
            for part in line.split("new OtherName(").skip(1) {
                let name = part.trim_start_matches('"').split('"').next().unwrap();
                let known = name == tool || names_elsewhere(&[tool]).contains(&name);
                assert!(known, "{tool} is called {name} elsewhere");
                seen += 1;
            }
        }
        assert!(seen >= 9, "{seen}");
    }
}
