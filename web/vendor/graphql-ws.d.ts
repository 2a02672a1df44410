export * from "graphql-ws";
