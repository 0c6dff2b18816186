using System.Collections.Generic;
using System.Linq;

namespace UnityEngine
{
    /// <summary>
    /// Instances of prefabs in the simulated editor: each object of one knows the object of the asset from which it comes. What is other than there is
    /// an override and stays when the prefab changes.
    /// </summary>
    internal static class PrefabInstances
    {
        /// <summary>Gives an instance what its prefab has now. Its place and name are its own.</summary>
        public static void Follow(GameObject instance, GameObject asset)
        {
            Dictionary<long, Object> now = asset.Parts().ToDictionary(p => p.Id);
            var known = new HashSet<long>(((GameObject)instance.Source ?? asset).Parts().Select(p => p.Id));
            var here = new Dictionary<long, Object>();
            foreach (Object part in instance.Parts().Where(p => p.Source != null).ToList())
            {
                if (!now.TryGetValue(part.Source.Id, out Object source))
                {
                    if (part is GameObject gone) gone.Leave();
                    else if (part is Component old && part is not Transform) old.Owner.Remove(old);
                    continue;
                }
                here[source.Id] = part;
                if (part != instance && part != instance.transform && part.State != null && Equals(part.State, part.Source.State)) part.State = source.State;
                foreach (string key in part.Values.Keys.Concat(part.Source.Values.Keys).Concat(source.Values.Keys).Distinct().ToList())
                {
                    if (!Same(part, part.Source, key)) continue;
                    if (source.Values.TryGetValue(key, out object value)) part.Values[key] = value;
                    else part.Values.Remove(key);
                }
                part.Source = source;
            }
            foreach (GameObject made in asset.All().Where(g => !known.Contains(g.Id) && g.transform.parent != null).ToList())
            {
                if (here.TryGetValue(made.transform.parent.gameObject.Id, out Object above)) made.Copy().Under((GameObject)above);
            }
            foreach (Component made in asset.All().SelectMany(g => g.Components).Where(c => !known.Contains(c.Id) && c is not Transform))
            {
                if (here.TryGetValue(made.gameObject.Id, out Object owner)) ((GameObject)owner).Add(GameObject.CopyOf(made));
            }
            if (asset.AssetFile != null) instance.Prefab = asset.AssetFile;
        }

        private static bool Same(Object one, Object other, string key) =>
            one.Values.TryGetValue(key, out object a) == other.Values.TryGetValue(key, out object b) && Equals(a, b);
    }
}
