use super::*;

const CLOSED: Presence = Presence::Away(Cause::Closed);

fn path(name: &str) -> PathBuf {
    PathBuf::from(name)
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().copied().map(path).collect()
}

fn known(project: &str, is_open: bool) -> Known {
    Known { project: path(project), editor: if is_open { Presence::Open } else { CLOSED } }
}

fn say(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| String::from(*name)).collect()
}

#[test]
fn an_editor_is_named_by_its_folder_and_by_more_folders_only_where_two_are_alike() {
    let rows: [(&[&str], &[&str]); 7] = [
        (&["/a/Castle", "/a/Forest"], &["Castle", "Forest"]),
        (&["/a/Castle", "/b/Castle", "/b/Forest"], &["a/Castle", "b/Castle", "Forest"]),
        (&["/x/a/Castle", "/y/a/Castle"], &["x/a/Castle", "y/a/Castle"]),
        (&["/Castle", "/a/Castle"], &["/Castle", "a/Castle"]),
        (&["/a/Castle", "/a/Castle"], &["Castle", "Castle"]),
        // Clones for multiplayer are folders of their own.
        (
            &["/a/Castle", "/a/Castle_clone_0", "/a/Castle/Library/VP/mppm1a2b"],
            &["Castle", "Castle_clone_0", "mppm1a2b"],
        ),
        (&["/a/Ca\nstle"], &["Ca\\u{a}stle"]),
    ];
    for (projects, expected) in rows {
        assert_eq!(names(&paths(projects)), expected, "{projects:?}");
        let reversed: Vec<&str> = projects.iter().rev().copied().collect();
        let expected: Vec<&str> = expected.iter().rev().copied().collect();
        assert_eq!(names(&paths(&reversed)), expected, "the order of {projects:?} must not matter");
    }
}

#[test]
fn every_name_leads_to_its_own_editor_and_so_does_a_longer_one() {
    let known = [known("/a/Castle", true), known("/b/Castle", true), known("/b/Forest", true)];
    let route = Route::Among(known.iter().map(|known| known.project.clone()).collect());
    let all: Vec<PathBuf> = known.iter().map(|known| known.project.clone()).collect();
    for (name, project) in names(&all).into_iter().zip(&all) {
        for name in [name, project.display().to_string(), format!("{}/", project.display())] {
            let chosen = choose(&route, &Scope::All, || known.to_vec(), std::slice::from_ref(&name));
            assert_eq!(chosen, Choice::Editor(project.clone()), "{name}");
        }
    }
}

#[test]
fn a_name_that_is_not_certain_is_refused_with_its_own_reason() {
    let known =
        [known("/a/Castle", true), known("/b/Castle", false), known("/b/Forest", true), known("/c/Harbour", false)];
    let route = Route::Among(paths(&["/a/Castle", "/b/Forest"]));
    let editors = || say(&["Forest", "a/Castle"]);
    let rows: [(&[&str], Refusal); 8] = [
        (&[], Refusal::Unnamed { editors: editors() }),
        // `Castle` may mean the closed project: its editor had that name until the second `Castle` was known.
        (&["Castle"], Refusal::Ambiguous { name: "Castle".into(), fits: say(&["a/Castle", "b/Castle"]) }),
        (
            &["Harbour"],
            Refusal::Away {
                cause: Cause::Closed,
                name: "Harbour".into(),
                project: path("/c/Harbour"),
                editors: editors(),
            },
        ),
        (
            &["b/Castle"],
            Refusal::Away {
                cause: Cause::Closed,
                name: "b/Castle".into(),
                project: path("/b/Castle"),
                editors: editors(),
            },
        ),
        (&["Florest"], Refusal::Unknown { name: "Florest".into(), meant: Some("Forest".into()), editors: editors() }),
        (&["forest"], Refusal::Unknown { name: "forest".into(), meant: Some("Forest".into()), editors: editors() }),
        (&["Zoo"], Refusal::Unknown { name: "Zoo".into(), meant: None, editors: editors() }),
        (&["a/Castle", "Forest"], Refusal::Twice { names: ["a/Castle".into(), "Forest".into()] }),
    ];
    for (said, refusal) in rows {
        assert_eq!(choose(&route, &Scope::All, || known.to_vec(), &say(said)), Choice::Refused(refusal), "{said:?}");
    }
    assert_eq!(
        choose(&route, &Scope::All, || known.to_vec(), &say(&["Forest", "/b/Forest"])),
        Choice::Editor(path("/b/Forest"))
    );
}

/// Every combination of a route, a scope, running editors and the name in a call, with two projects.
#[test]
fn whatever_is_said_and_runs_no_call_reaches_an_editor_that_it_does_not_mean() {
    let (a, b) = ("/p/a", "/p/b");
    let scopes = [
        Scope::All,
        Scope::Only(Vec::new()),
        Scope::Only(paths(&[a])),
        Scope::Only(paths(&[b])),
        Scope::Only(paths(&[a, b])),
    ];
    let routes = [
        Route::To(path(a)),
        Route::To(path(b)),
        Route::Among(paths(&[a, b])),
        Route::Among(paths(&[a])),
        Route::Wait,
        Route::Nobody(paths(&[a, b])),
        Route::Nobody(Vec::new()),
    ];
    let said: [&[&str]; 6] = [&[], &["a"], &["b"], &["c"], &["a", "b"], &["b", "b"]];
    let presences = [Presence::Open, Presence::Unknown, CLOSED];
    let mut count = 0;
    for scope in &scopes {
        for route in &routes {
            for said in said {
                for (first, second) in presences.into_iter().flat_map(|first| presences.map(|second| (first, second))) {
                    count += 1;
                    let known = [(a, first), (b, second)].map(|(at, editor)| Known { project: path(at), editor });
                    let given = format!("{scope:?} {route:?} {said:?} {known:?}");
                    match choose(route, scope, || known.to_vec(), &say(said)) {
                        Choice::Editor(project) => {
                            let name = project.file_name().unwrap().to_str().unwrap();
                            assert!(!said.is_empty() && said.iter().all(|said| *said == name), "{given}");
                            assert!(scope.holds(&project), "{given}");
                            assert!(
                                known.iter().any(|known| known.project == project && known.editor != CLOSED),
                                "{given}"
                            );
                        }
                        Choice::Routed => {
                            assert!(
                                said.is_empty() || said.iter().all(|said| *route == Route::To(path("/p").join(said)))
                            );
                            assert!(!matches!(route, Route::Among(_)), "{given}: that would be a guess");
                        }
                        Choice::Refused(Refusal::Unnamed { editors }) => {
                            assert!(said.is_empty() && matches!(route, Route::Among(_)), "{given}");
                            let is_open = |known: &Known| known.editor == Presence::Open && scope.holds(&known.project);
                            let open = known.iter().filter(|known| is_open(known)).count();
                            assert_eq!(editors.len(), open, "{given}");
                            assert!(editors.iter().all(|editor| scope.holds(&path("/p").join(editor))), "{given}");
                        }
                        Choice::Refused(_) => assert!(!said.is_empty(), "{given}"),
                    }
                }
            }
        }
    }
    assert_eq!(count, 5 * 7 * 6 * 9);
}

#[test]
fn a_session_uses_what_it_was_started_for_or_its_roots_and_else_every_editor() {
    let (b, both) = (paths(&["/b"]), paths(&["/a", "/b"]));
    let rows = [
        (Named::Project(Path::new("/a")), Roots::Hold(&b), Scope::Only(paths(&["/a"]))),
        (Named::Missing, Roots::None, Scope::Only(Vec::new())),
        (Named::None, Roots::Awaited, Scope::Only(Vec::new())),
        (Named::None, Roots::Hold(&[]), Scope::Only(Vec::new())),
        (Named::None, Roots::Hold(&both), Scope::Only(paths(&["/a", "/b"]))),
        (Named::None, Roots::None, Scope::All),
    ];
    for (named, roots, scope) in rows {
        assert_eq!(Scope::of(named, roots, &[]), scope, "{named:?} {roots:?}");
    }
    // The roots hold several projects, and one of them has an open editor. The others still belong to the session.
    let seen = paths(&["/b", "/a"]);
    let scope = |named: Named<'_>, roots: &[&str]| Scope::of(named, Roots::Hold(&paths(roots)), &seen);
    assert_eq!(scope(Named::None, &["/a"]), Scope::Only(paths(&["/a", "/b"])));
    assert_eq!(scope(Named::Project(Path::new("/c")), &["/a"]), Scope::Only(paths(&["/c"])));
}

#[test]
fn a_project_that_a_session_may_not_use_changes_none_of_its_names() {
    let known = [known("/a/Castle", true), known("/b/Castle", true), known("/b/Forest", true)];
    let scope = Scope::Only(paths(&["/a/Castle", "/c/Harbour"]));
    let route = Route::Among(paths(&["/a/Castle"]));
    let listed: Vec<String> = named(&scope, &known).into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, ["Castle", "Harbour"]);
    let chosen = |name: &str| choose(&route, &scope, || known.to_vec(), &say(&[name]));
    assert_eq!(chosen("Castle"), Choice::Editor(path("/a/Castle")));
    assert_eq!(chosen("Harbour"), Choice::Editor(path("/c/Harbour")), "it was not looked for yet");
    let editors = || say(&["Castle"]);
    for name in ["b/Castle", "Forest", "/b/Forest"] {
        let refusal = Refusal::OutOfScope { name: name.to_owned(), editors: editors() };
        assert_eq!(chosen(name), Choice::Refused(refusal));
    }
    assert!(matches!(chosen("Zoo"), Choice::Refused(Refusal::Unknown { .. })));
    let all: Vec<String> = named(&Scope::All, &known).into_iter().map(|(name, _)| name).collect();
    assert_eq!(all, ["Forest", "a/Castle", "b/Castle"]);
}
