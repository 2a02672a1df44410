// Starts GraphiQL against this server: queries by POST, subscriptions by graphql-transport-ws.
"use strict";

const signIn = document.getElementById("sign-in");

async function fetchSignedIn(url, options) {
  const response = await fetch(url, { ...options, credentials: "same-origin" });
  signIn.hidden = response.status !== 401;
  return response;
}

async function start() {
  const webSocket = new URL("/graphql", window.location.href);
  webSocket.protocol = webSocket.protocol === "https:" ? "wss:" : "ws:";

  const examples = await fetch("/static/examples.graphql");
  const fetcher = GraphiQL.createFetcher({
    url: "/graphql",
    // What stands in the Headers tab goes along in the connection's first message.
    subscriptionUrl: webSocket.href,
    fetch: fetchSignedIn,
    enableIncrementalDelivery: false,
  });
  ReactDOM.createRoot(document.getElementById("graphiql")).render(
    React.createElement(GraphiQL, {
      fetcher,
      defaultQuery: await examples.text(),
      defaultEditorToolsVisibility: true,
    }),
  );
}

start();
