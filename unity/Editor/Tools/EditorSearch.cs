#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEditor.Search;

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
            private int taken;

            public Query(SearchContext context, SearchFlags flags)
            {
                this.context = context;
                list = SearchService.Request(context, flags);
            }

            public bool IsPending => list.pending;

            public IReadOnlyList<SearchHit> Take(int max)
            {
                int count = Math.Min(max, list.Count - taken);
                if (count <= 0) return Array.Empty<SearchHit>();
                List<SearchHit> hits = list.GetRange(taken, count).Select(Describe).ToList();
                taken += count;
                return hits;
            }

            public void Dispose()
            {
                list.Dispose();
                context.Dispose();
            }

            private SearchHit Describe(SearchItem? item)
            {
                if (item == null) return new SearchHit("", "", "", "", "", "", "");
                UnityEngine.Object? target = item.ToObject();
                string path = target == null ? "" : AssetDatabase.GetAssetPath(target);
                return new SearchHit(item.id, item.GetLabel(context, true) ?? "", item.GetDescription(context, true) ?? "",
                    item.provider?.id ?? "", target == null ? "" : target.GetType().Name, path,
                    target == null ? "" : EditorScenes.IdOf(target))
                {
                    // If the item has no thumbnail yet, none is fetched: making a preview takes time, and only the name is
                    // returned.
                    Thumbnail = item.thumbnail == null ? "" : item.thumbnail.name,
                    Score = item.score,
                    Tags = path.Length > 0 ? AssetDatabase.GetLabels(target) : Array.Empty<string>(),
                    IsSelectable = target != null
                };
            }
        }
    }
}
