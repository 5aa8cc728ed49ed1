/** Starts the page. */
import { render } from "preact";
import { App } from "./app.tsx";
import { takeToken } from "./token.ts";

const root = document.querySelector("#page");
if (root !== null) render(<App token={takeToken()} />, root);
