#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEditor.Search;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the search port with Unity Search.</summary>
    internal sealed class EditorSearch : ISearch
    {
        public IReadOnlyList<SearchProviderEntry> Providers() => SearchService.Providers
            .Select(p => new SearchProviderEntry(p.id, p.name, p.filterId ?? "", p.priority, p.active, p.isExplicitProvider)
            {
                Type = p.type ?? "", ShowsDetails = p.showDetails, DetailsOptions = p.showDetailsOptions.ToString(),
                Actions = p.actions?.Count ?? 0
            }).ToList();

        public ISearchQuery Begin(SearchRequest request)
        {
            SearchFlags flags = SearchFlags.None;
            // The flags are parsed by name, since newer editors have made some of them obsolete and without effect.
            foreach (string name in request.Flags)
            {
                if (Enum.TryParse(name, out SearchFlags flag)) flags |= flag;
            }
            SearchContext context = request.Providers.Count > 0
                ? SearchService.CreateContext(request.Providers, request.Query, flags)
                : SearchService.CreateContext(request.Query, flags);
            return new Query(context, flags);
        }

        private sealed class Query : ISearchQuery
        {
            private readonly SearchContext context;
            private readonly ISearchList list;
            private SearchItem?[]? items;

            public Query(SearchContext context, SearchFlags flags)
            {
                this.context = context;
                list = SearchService.Request(context, flags);
            }

            public bool IsPending => list.pending;

            public int Count => items?.Length ?? list.Count;

            public SearchHit Read(int index)
            {
                items ??= list.GetRange(0, list.Count).ToArray();
                return Describe(items[index]);
            }

            public void Dispose()
            {
                list.Dispose();
                context.Dispose();
            }

            private SearchHit Describe(SearchItem? item)
            {
                if (item == null) return new SearchHit("", "", "", "", "", "", "");
                string asset = AssetPath(item.id);
                // Unity would load the asset for this, with everything that it refers to.
                UnityEngine.Object? target = asset.Length > 0 ? null : item.ToObject();
                string path = target == null ? asset : AssetDatabase.GetAssetPath(target);
                string type = target != null ? target.GetType().Name
                    : asset.Length > 0 ? AssetDatabase.GetMainAssetTypeAtPath(asset)?.Name ?? "" : "";
                return new SearchHit(item.id, item.GetLabel(context, true) ?? "", item.GetDescription(context, true) ?? "",
                    item.provider?.id ?? "", type, path, target == null ? "" : EditorScenes.IdOf(target))
                {
                    // If the item has no thumbnail yet, none is fetched: making a preview takes time, and only the name is
                    // returned.
                    Thumbnail = item.thumbnail == null ? "" : item.thumbnail.name,
                    Score = item.score,
                    Tags = asset.Length > 0 ? AssetDatabase.GetLabels(new GUID(AssetDatabase.AssetPathToGUID(asset)))
                        : path.Length > 0 ? AssetDatabase.GetLabels(target) : Array.Empty<string>(),
                    IsSelectable = target != null || asset.Length > 0
                };
            }

            // Unity Search names an asset by its path or by its GlobalObjectId as text. Returns an empty text for everything else.
            private static string AssetPath(string id)
            {
                string guid = GlobalIds.AssetGuid(id);
                if (guid.Length > 0) return AssetDatabase.GUIDToAssetPath(guid) ?? "";
                return id.StartsWith("Assets/") || id.StartsWith("Packages/") ? id : "";
            }
        }
    }
}
