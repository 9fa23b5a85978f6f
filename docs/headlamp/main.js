// Environments, ClusterEnvironments and Overrides in Headlamp. It reads with the user's own rights, and writes nothing.
// Headlamp gives its libraries to plugins as `pluginLib`, so this file needs no build.
(() => {
  const { React, Crd, CommonComponents, registerRoute, registerSidebarEntry } = pluginLib;
  const { ConditionsTable, Link, NameValueTable, ObjectEventList, ResourceListView, SectionBox, SimpleTable, StatusLabel } =
    CommonComponents;
  const element = React.createElement;

  const kindOf = (kind, pluralName, isNamespaced) =>
    Crd.makeCustomResourceClass({
      apiInfo: [{ group: "keda-py.dev", version: "v1alpha1" }],
      kind,
      pluralName,
      singularName: kind.toLowerCase(),
      isNamespaced,
    });
  const Environment = kindOf("Environment", "environments", true);
  const ClusterEnvironment = kindOf("ClusterEnvironment", "clusterenvironments", false);
  const Override = kindOf("Override", "overrides", true);

  const statusOf = (item) => item.jsonData.status || {};
  const time = (moment) => (moment ? new Date(moment).toLocaleString() : "");
  const isTrue = (item, type) => (statusOf(item).conditions || []).some((one) => one.type === type && one.status === "True");
  const COLORS = { Awake: "success", Asleep: "", Waking: "warning", FallingAsleep: "warning" };
  const phase = (item) => {
    const name = statusOf(item).phase || "Unknown";
    const troubled = isTrue(item, "Contested") || name === "Unknown";
    return element(StatusLabel, { status: troubled ? "error" : COLORS[name] ?? "warning" }, name);
  };
  const next = (item) => {
    const change = statusOf(item).nextChange;
    return change ? `${change.to} ${time(change.at)}` : "";
  };

  const details = (item) =>
    element(
      Link,
      { routeName: "keda-py-environment", params: { namespace: item.jsonData.metadata.namespace, name: item.jsonData.metadata.name } },
      item.jsonData.metadata.name
    );
  const column = (label, getValue, render) => ({ id: label, label, getValue, ...(render ? { render } : {}) });
  const environmentColumns = [
    column("Name", (item) => item.jsonData.metadata.name, details),
    "namespace",
    column("Phase", (item) => statusOf(item).phase || "Unknown", phase),
    column("Ready", (item) => statusOf(item).ready || ""),
    column("Up", (item) => statusOf(item).up || ""),
    column("Next", next),
    column("Override", (item) => (statusOf(item).override || {}).summary || ""),
    column("Because", (item) => statusOf(item).because || ""),
    "age",
  ];
  const count = (name) => (item) => (statusOf(item).namespaces || {})[name] ?? 0;
  const named = column("Name", (item) => item.jsonData.metadata.name);
  const clusterColumns = [
    named,
    ...["covered", "awake", "asleep", "waking", "contested", "failed"].map((name) => column(name, count(name))),
    column("needs a person", (item) => (statusOf(item).needsPerson || []).map((one) => `${one.namespace}: ${one.message}`).join("; ")),
    "age",
  ];
  const overrideColumns = [
    named,
    "namespace",
    column("State", (item) => item.jsonData.spec.state || ""),
    column("Until", (item) => time(item.jsonData.spec.until)),
    column("Reason", (item) => item.jsonData.spec.reason || ""),
    "age",
  ];

  const list = (title, resourceClass, columns) => () => element(ResourceListView, { title, resourceClass, columns });

  function EnvironmentDetails() {
    const { namespace, name } = pluginLib.ReactRouter.useParams();
    const [item, error] = Environment.useGet(name, namespace);
    if (error) return element(SectionBox, { title: name, backLink: true }, `It cannot be read: ${error.message || error}`);
    if (!item) return element(SectionBox, { title: name, backLink: true }, "Loading.");
    const status = statusOf(item);
    const rows = [
      { name: "Phase", value: phase(item) },
      { name: "Because", value: status.because || "" },
      { name: "Next", value: next(item) },
      { name: "Ready", value: status.ready || "" },
      { name: "Override", value: (status.override || {}).summary || "", hide: !status.override },
      { name: "Woken by", value: (status.override || {}).request || "", hide: !(status.override || {}).request },
    ];
    const members = Object.entries(status.members || {}).map(([member, state]) => ({ member, ...state }));
    return element(
      React.Fragment,
      null,
      element(SectionBox, { title: `Environment ${namespace}/${name}`, backLink: true }, element(NameValueTable, { rows })),
      element(
        SectionBox,
        { title: "Members that differ from what their owners left" },
        element(SimpleTable, {
          data: members,
          emptyMessage: "none",
          columns: [
            { label: "Member", getter: (one) => one.member },
            { label: "Stage", getter: (one) => one.stage || "" },
            { label: "Replicas to give back", getter: (one) => one.replicas ?? "" },
            { label: "Since", getter: (one) => time(one.since) },
          ],
        })
      ),
      element(SectionBox, { title: "Conditions" }, element(ConditionsTable, { resource: item.jsonData })),
      element(ObjectEventList, { object: item })
    );
  }

  registerSidebarEntry({ parent: null, name: "keda-py", label: "Environments", url: "/keda-py/environments", icon: "mdi:weather-night" });
  const pages = [
    ["environments", "Environments", list("Environments", Environment, environmentColumns)],
    ["clusterenvironments", "ClusterEnvironments", list("ClusterEnvironments", ClusterEnvironment, clusterColumns)],
    ["overrides", "Overrides", list("Overrides", Override, overrideColumns)],
  ];
  for (const [name, label, component] of pages) {
    registerSidebarEntry({ parent: "keda-py", name: `keda-py-${name}`, label, url: `/keda-py/${name}` });
    registerRoute({ path: `/keda-py/${name}`, sidebar: `keda-py-${name}`, name: label, exact: true, component });
  }
  registerRoute({
    path: "/keda-py/environments/:namespace/:name",
    sidebar: "keda-py-environments",
    name: "keda-py-environment",
    exact: true,
    component: EnvironmentDetails,
  });
})();
