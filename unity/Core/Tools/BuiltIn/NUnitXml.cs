#nullable enable
using System;
using System.Globalization;
using System.IO;
using System.Text;
using System.Xml;

namespace Holdfast
{
    /// <summary>
    /// Writes a test run as NUnit 3 XML. The test framework provides the suites. This class writes the surrounding
    /// <c>test-run</c> element, which readers expect, since older frameworks cannot write it.
    /// </summary>
    internal static class NUnitXml
    {
        /// <summary>Returns the text of the file.</summary>
        /// <exception cref="XmlException">The framework's part is not valid XML.</exception>
        public static string Write(TestSummary summary, DateTime endUtc)
        {
            int total = summary.Passed + summary.Failed + summary.Skipped + summary.Inconclusive;
            var text = new Utf8Writer();
            var settings = new XmlWriterSettings { Indent = true, CloseOutput = false };
            using (XmlWriter xml = XmlWriter.Create(text, settings))
            {
                xml.WriteStartElement("test-run");
                void Attribute(string name, object value) =>
                    xml.WriteAttributeString(name, Convert.ToString(value, CultureInfo.InvariantCulture));
                Attribute("id", 2);
                Attribute("testcasecount", total);
                Attribute("result", summary.Failed > 0 ? "Failed" : summary.Passed > 0 ? "Passed" : "Inconclusive");
                Attribute("total", total);
                Attribute("passed", summary.Passed);
                Attribute("failed", summary.Failed);
                Attribute("inconclusive", summary.Inconclusive);
                Attribute("skipped", summary.Skipped);
                Attribute("asserts", 0);
                Attribute("engine-version", "3.5.0.0");
                Attribute("clr-version", Environment.Version);
                Attribute("start-time", Stamp(endUtc.AddSeconds(-summary.Seconds)));
                Attribute("end-time", Stamp(endUtc));
                Attribute("duration", summary.Seconds);
                if (summary.Xml.Length > 0)
                {
                    var read = new XmlReaderSettings { ConformanceLevel = ConformanceLevel.Fragment, DtdProcessing = DtdProcessing.Prohibit };
                    using XmlReader inner = XmlReader.Create(new StringReader(summary.Xml), read);
                    xml.WriteNode(inner, false);
                }
                xml.WriteEndElement();
            }
            return text.ToString();
        }

        private static string Stamp(DateTime time) => time.ToString("yyyy-MM-dd HH:mm:ss'Z'", CultureInfo.InvariantCulture);

        private sealed class Utf8Writer : StringWriter
        {
            public Utf8Writer() : base(CultureInfo.InvariantCulture)
            {
            }

            public override Encoding Encoding => Json.Utf8;
        }
    }
}
