import { person } from "../lib/plinth.js";

export default async function Home() {
  const who = await person();
  if (who === undefined) return <a href="/sign-in">Sign in</a>;
  return (
    <form action="/sign-out" method="post">
      <p>Hello {who.sub}</p>
      <button>Sign out</button>
    </form>
  );
}
