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

        /// <exception cref="ToolParameterException">The property does not take the value.</exception>
        public void Write(string name, JToken value)
        {
            Shader shader = material.shader;
            int index = shader.FindPropertyIndex(name);
            // Some properties, such as _MainTex_ST, are not declared by themselves.
            if (index < 0) throw new ToolParameterException($"The shader {shader.name} declares no property {name} (Properties)");
            switch (shader.GetPropertyType(index))
            {
                case ShaderPropertyType.Color:
                    float[] color = Numbers(name, value, "rgba", 3);
                    material.SetColor(name, new Color(color[0], color[1], color[2], color[3]));
                    return;
                case ShaderPropertyType.Vector:
                    float[] vector = Numbers(name, value, "xyzw", 4);
                    material.SetVector(name, new Vector4(vector[0], vector[1], vector[2], vector[3]));
                    return;
                case ShaderPropertyType.Texture:
                    material.SetTexture(name, value.Type == JTokenType.Null ? null : Picture(name, value));
                    return;
                case ShaderPropertyType.Int:
                    float whole = Number(name, value);
                    if (whole != (int)whole) throw Refusal(name, "takes a whole number");
                    material.SetInteger(name, (int)whole);
                    return;
                default:
                    material.SetFloat(name, Number(name, value));
                    return;
            }
        }

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
