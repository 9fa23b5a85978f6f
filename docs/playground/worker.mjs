// Python beside the page, so that typing never waits for it. Everything comes from this folder.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function load() {
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  const packages = await (await fetch("./packages.zip")).arrayBuffer();
  python.unpackArchive(packages, "zip", { extractDir: "/packages" });
  python.runPython("import sys; sys.path.insert(0, '/packages'); import browser; browser.prepare()");
  return python.runPython("browser.answer");
}

const loading = load();
onmessage = async (message) => {
  try {
    const answer = await loading;
    postMessage(JSON.parse(await answer(message.data)));
  } catch (error) {
    postMessage({ failure: String(error) });
  }
};
