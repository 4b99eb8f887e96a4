// Takes over what differs in a page that was fetched again, and leaves all else alone: focus, selection, scrolling.

/** Make an element what a fresh one is. Children with an id stay who they are; `data-keep` leaves children alone. */
export function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
  } else if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
  } else if (!old.hasAttribute("data-keep")) {
    morphAttributes(old, fresh);
    morphChildren(old, fresh);
  }
}

function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
}

function morphChildren(old, fresh) {
  const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  const wanted = new Set([...fresh.children].map((child) => child.id).filter(Boolean));
  let next = old.firstChild;
  // What is gone goes first, so that what stays need not be moved: an element that is moved loses the focus.
  const passGone = () => {
    while (next && next.id && !wanted.has(next.id)) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  };
  for (const child of [...fresh.childNodes]) {
    passGone();
    const same = child.id ? known.get(child.id) : next && !next.id && next.nodeName === child.nodeName ? next : null;
    if (!same) {
      old.insertBefore(child, next);
    } else {
      if (same === next) next = next.nextSibling;
      else old.insertBefore(same, next);
      morph(same, child);
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}
