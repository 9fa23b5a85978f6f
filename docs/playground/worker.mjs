// Python beside the page, so that typing never waits for it. Everything comes from this folder.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function load() {
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  const packages = await (await fetch("./packages.zip")).arrayBuffer();
  python.unpackArchive(packages, "zip", { extractDir: "/packages" });
  python.runPython("import sys; sys.path.insert(0, '/packages'); import browser; browser.prepare()");
  return python.runPython("browser");
}

const loading = load();
onmessage = async ({ data: { number, manifest, profile } }) => {
  try {
    const browser = await loading;
    postMessage({ number, ...JSON.parse(await browser.answer(manifest)) });
    // The day comes after the week: it takes longer, and the findings should not wait for it.
    postMessage({ number, days: JSON.parse(await browser.days(manifest, profile)) });
  } catch (error) {
    postMessage({ number, failure: String(error) });
  }
};
