#nullable enable
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// Implements the menu port. Items of scripts are found by their attribute. Native items are listed by an internal method,
    /// which is found by reflection. If that method is missing, native items are not listed, but they can still be executed.
    /// </summary>
    internal sealed class EditorMenu : IMenu
    {
        private readonly MethodInfo? getMenuItems = Internal("GetMenuItems", typeof(string), typeof(bool), typeof(bool));
        private readonly MethodInfo? exists = Internal("MenuItemExists", typeof(string));

        public IReadOnlyList<MenuEntry> Items()
        {
            var items = new List<MenuEntry>();
            var known = new HashSet<string>();
            foreach (MethodInfo method in (IEnumerable<MethodInfo>)TypeCache.GetMethodsWithAttribute<MenuItem>())
            {
                foreach (MenuItem item in method.GetCustomAttributes<MenuItem>(false))
                {
                    (string path, string keys) = MenuPath.Split(item.menuItem);
                    known.Add(path);
                    items.Add(new MenuEntry(path, method.DeclaringType?.FullName + "." + method.Name,
                        method.DeclaringType?.Assembly.GetName().Name ?? "", item.priority, item.validate, false, keys));
                }
            }
            items.AddRange(Native().Where(i => !known.Contains(i.Path)));
            return items;
        }

        public bool Execute(string path) => EditorApplication.ExecuteMenuItem(path);

        public bool Invoke(string path)
        {
            foreach (MethodInfo method in (IEnumerable<MethodInfo>)TypeCache.GetMethodsWithAttribute<MenuItem>())
            {
                bool has = method.GetCustomAttributes<MenuItem>(false).Any(i => !i.validate && MenuPath.Split(i.menuItem).Path == path);
                if (!has || !method.IsStatic || method.GetParameters().Length > 0) continue;
                method.Invoke(null, null);
                return true;
            }
            return false;
        }

        public bool Exists(string path) => exists == null ? Items().Any(i => !i.IsValidation && i.Path == path)
            : (bool)exists.Invoke(null, new object[] { path })!;

        public bool IsEnabled(string path) => Menu.GetEnabled(path);

        private IEnumerable<MenuEntry> Native()
        {
            if (getMenuItems?.Invoke(null, new object[] { "", false, false }) is not IEnumerable found) yield break;
            foreach (object item in found)
            {
                if (item.GetType().GetProperty("path")?.GetValue(item) is not string text) continue;
                int priority = item.GetType().GetProperty("priority")?.GetValue(item) is int number ? number : 0;
                (string path, string keys) = MenuPath.Split(text);
                yield return new MenuEntry(path, "", "", priority, false, true, keys);
            }
        }

        private static MethodInfo? Internal(string name, params Type[] parameters) => typeof(Menu).GetMethod(
            name, BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic, null, parameters, null);
    }
}
