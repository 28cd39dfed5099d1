/** Shows scopes, addresses and the like, a line each. */
export const CodeLines = ({ lines }: { readonly lines: readonly string[] }) => (
  <ul className="lines">
    {lines.map((line) => (
      <li key={line}>
        <code>{line}</code>
      </li>
    ))}
  </ul>
);
