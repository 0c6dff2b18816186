// Stubs of materials. Signatures are Unity's. There is one shader, with a property of each kind.
using System;
using System.Collections.Generic;
using UnityEngine.Rendering;

namespace UnityEngine
{
    public sealed class Shader : Object
    {
        private static readonly (string Name, ShaderPropertyType Type)[] Properties =
        {
            ("_Color", ShaderPropertyType.Color), ("_Offset", ShaderPropertyType.Vector), ("_Metallic", ShaderPropertyType.Range),
            ("_MainTex", ShaderPropertyType.Texture), ("_Mode", ShaderPropertyType.Int)
        };

        public static Shader Find(string name) => name == "Standard" ? new Shader { name = name } : null;

        public int FindPropertyIndex(string propertyName) => Array.FindIndex(Properties, p => p.Name == propertyName);

        public ShaderPropertyType GetPropertyType(int propertyIndex) => Properties[propertyIndex].Type;
    }

    public class Material : Object
    {
        private Dictionary<string, object> shaded = new();

        public Material(Shader shader) => this.shader = shader;

        public Shader shader { get; set; }

        internal override object State
        {
            get => (new Dictionary<string, object>(Values), shaded);
            set => (Values, shaded) = ((Dictionary<string, object>, Dictionary<string, object>))value;
        }

        public bool HasProperty(string name) => shader.FindPropertyIndex(name) >= 0;

        public Color GetColor(string name) => Get(name, new Color(1, 1, 1, 1));

        public Vector4 GetVector(string name) => Get<Vector4>(name, default);

        public float GetFloat(string name) => Get<float>(name, default);

        public int GetInteger(string name) => Get<int>(name, default);

        public Texture GetTexture(string name) => Get<Texture>(name, null);

        public void SetColor(string name, Color value) => Set(name, value, $"{value.r} {value.g} {value.b} {value.a}");

        public void SetVector(string name, Vector4 value) => Set(name, value, $"{value.x} {value.y} {value.z} {value.w}");

        public void SetFloat(string name, float value) => Set(name, value, value.ToString());

        public void SetInteger(string name, int value) => Set(name, value, value.ToString());

        public void SetTexture(string name, Texture value) => Set(name, value, value?.name ?? "none");

        private T Get<T>(string name, T first) => shaded.TryGetValue(name, out object value) ? (T)value : first;

        // The last value is readable: it is the property "title", which every object has here.
        private void Set(string name, object value, string text)
        {
            shaded = new Dictionary<string, object>(shaded) { [name] = value };
            Values["title"] = name + " " + text;
        }
    }

    public struct Color
    {
        public float r;
        public float g;
        public float b;
        public float a;

        public Color(float r, float g, float b, float a)
        {
            this.r = r;
            this.g = g;
            this.b = b;
            this.a = a;
        }
    }

    public struct Vector4
    {
        public float x;
        public float y;
        public float z;
        public float w;

        public Vector4(float x, float y, float z, float w)
        {
            this.x = x;
            this.y = y;
            this.z = z;
            this.w = w;
        }
    }
}

namespace UnityEngine.Rendering
{
    public enum ShaderPropertyType
    {
        Color,
        Vector,
        Float,
        Range,
        Texture,
        Int
    }

    public abstract class RenderPipelineAsset : ScriptableObject
    {
        public virtual Shader defaultShader => null;
    }

    public sealed class GraphicsSettings : Object
    {
        public static RenderPipelineAsset currentRenderPipeline => null;
    }
}
