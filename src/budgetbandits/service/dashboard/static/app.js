// Begins what there is to do on a page.

import * as actions from "./actions.js";
import * as charts from "./charts.js";
import { startCreate, startSignIn } from "./forms.js";
import * as journal from "./journal.js";
import { watch } from "./live.js";
import { showLater } from "./notices.js";
import { localise, setClock, tick } from "./times.js";

localise(document);
setClock(document.body.dataset.now);
showLater();
actions.start();

const byId = (id) => document.getElementById(id);
if (byId("sign-in")) startSignIn(byId("sign-in"));
if (byId("create")) startCreate(byId("create"));
if (byId("journal")) journal.start();
if (byId("charts")) {
  charts.draw();
  charts.followScheme();
}
if (byId("live")) watch(byId("charts") ? () => charts.draw() : () => {});
setInterval(() => tick(document), 1000);
