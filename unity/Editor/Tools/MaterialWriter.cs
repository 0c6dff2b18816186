#nullable enable
using System;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json.Linq;
using UnityEditor;
using UnityEngine;
using UnityEngine.Rendering;

namespace Holdfast.Editor
{
    /// <summary>Writes JSON into the properties of a material's shader, such as _Color.</summary>
    internal sealed class MaterialWriter
    {
        private readonly Material material;
        private readonly Func<string, FoundObject> find;

        public MaterialWriter(Material material, Func<string, FoundObject> find)
        {
            this.material = material;
            this.find = find;
        }

        /// <returns>What sets the property; null if it has this value already.</returns>
        /// <exception cref="ToolParameterException">The property does not take the value.</exception>
        public Action? Change(string name, JToken value)
        {
            Shader shader = material.shader;
            int index = shader.FindPropertyIndex(name);
            // Some properties, such as _MainTex_ST, are not declared by themselves.
            if (index < 0) throw new ToolParameterException($"The shader {shader.name} declares no property {name} (Properties)");
            switch (shader.GetPropertyType(index))
            {
                case ShaderPropertyType.Color:
                    float[] c = Numbers(name, value, "rgba", 3);
                    return Other(material.GetColor(name), new Color(c[0], c[1], c[2], c[3]), color => material.SetColor(name, color));
                case ShaderPropertyType.Vector:
                    float[] v = Numbers(name, value, "xyzw", 4);
                    return Other(material.GetVector(name), new Vector4(v[0], v[1], v[2], v[3]), vector => material.SetVector(name, vector));
                case ShaderPropertyType.Texture:
                    return Other(material.GetTexture(name), value.Type == JTokenType.Null ? null : Picture(name, value), texture => material.SetTexture(name, texture));
                case ShaderPropertyType.Int:
                    float whole = Number(name, value);
                    if (whole != (int)whole) throw Refusal(name, "takes a whole number");
                    return Other(material.GetInteger(name), (int)whole, number => material.SetInteger(name, number));
                default:
                    return Other(material.GetFloat(name), Number(name, value), number => material.SetFloat(name, number));
            }
        }

        // A texture that is gone is not equal to none, and is replaced.
        private static Action? Other<T>(T now, T wanted, Action<T> set) => Equals(now, wanted) ? null : () => set(wanted);

        /// <summary>
        /// Sets the keywords and the passes that follow from the properties, as the inspector does after a change: without them a normal
        /// map or an emission is not seen.
        /// </summary>
        public static void Validate(Material material)
        {
            MaterialEditor.ApplyMaterialPropertyDrawers(material);
            try
            {
                Check?.Invoke(null, new object[] { material });
            }
            catch (TargetInvocationException e)
            {
                // The shader's own code has failed. The values are set all the same.
                Debug.LogException(e.InnerException ?? e);
            }
        }

        private static readonly MethodInfo? Check = typeof(MaterialEditor).Assembly.GetType("UnityEditor.ShaderGUIUtility")?.GetMethod(
            "ValidateMaterial", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic, null, new[] { typeof(Material) }, null);

        private Texture Picture(string name, JToken value) =>
            value.Type == JTokenType.String && EditorObjects.Object(find((string)value!)) is Texture texture ? texture : throw Refusal(name, "takes a texture's path");

        // A color without alpha is opaque.
        private static float[] Numbers(string name, JToken value, string parts, int least)
        {
            JToken?[] given = value is JArray list ? list.ToArray<JToken?>() : value is JObject one ? parts.Select(p => one[p.ToString()]).TakeWhile(p => p != null).ToArray() : new JToken?[0];
            if (given.Length < least || given.Length > parts.Length) throw Refusal(name, "takes a list or an object with " + string.Join(", ", parts.ToCharArray()));
            return given.Select(g => Number(name, g!)).Concat(new[] { 1f }).Take(parts.Length).ToArray();
        }

        private static float Number(string name, JToken value)
        {
            float number = value.Type is JTokenType.Integer or JTokenType.Float ? (float)(double)value : throw Refusal(name, "takes numbers");
            return float.IsNaN(number) || float.IsInfinity(number) ? throw Refusal(name, "takes numbers that are not too large") : number;
        }

        private static ToolParameterException Refusal(string name, string what) => new($"{name} {what} (Properties)");
    }
}
